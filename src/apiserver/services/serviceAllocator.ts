// Chooses the addresses and node ports of a Service that is about to be written.
// Guarantees: what is held, or being written by another request of this server, is not chosen and refused when asked for.
import type { V1Service, V1ServicePort, V1StatusCause } from '../../api/gen/types.js';
import { canonicalIp, type Family } from '../../api/ip.js';
import type { Draft } from '../../api/kind.js';
import { SERVICES } from '../../api/resources.js';
import { type ApiError, invalid, statusError } from '../../api/status.js';
import { type AddressRange, serviceNetwork } from './addressRange.js';
import { AllocationError } from './error.js';
import { fault, settleFamilies } from './ipFamilies.js';
import { PortRange } from './portRange.js';
import {
  addressesOf,
  alignClusterIps,
  dropForType,
  HEADLESS,
  isHeadless,
  keepAllocated,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  portsOf,
} from './serviceFields.js';

/** What is taken in the whole cluster, as far as this server has heard. */
export interface Holdings {
  hasAddress(address: string): boolean;
  hasPort(port: number): boolean;
}

export interface ServiceAllocatorOptions {
  /** One, or one of each family; the first is the default family. */
  readonly serviceCidrs: readonly string[];
  /** `30000-32767` unless given. */
  readonly nodePortRange?: string;
  readonly holdings: Holdings;
  /** Networks besides those of serviceCidrs, as they are now: addresses come from them when those are full. */
  otherNetworks?(): readonly AddressRange[];
  random?(): number;
}

export class ServiceAllocator {
  readonly ports: PortRange;
  readonly #own: readonly AddressRange[];
  readonly #families: readonly Family[];
  readonly #otherNetworks: () => readonly AddressRange[];
  readonly #holdings: Holdings;
  readonly #random: () => number;
  readonly #reserved: ReadonlySet<string>;
  readonly #underWay = { addresses: new Set<string>(), ports: new Set<number>() };

  /** Throws AllocationError when a range is wrong. */
  constructor(options: ServiceAllocatorOptions) {
    const { serviceCidrs, nodePortRange = '30000-32767', holdings, random = Math.random } = options;
    this.#own = serviceCidrs.map(serviceNetwork);
    this.#families = this.#own.map(({ family }) => family);
    if (this.#families.length === 0 || new Set(this.#families).size !== this.#families.length)
      throw new AllocationError('BAD_RANGE', 'give one service network, or one of IPv4 and one of IPv6');
    this.ports = new PortRange(nodePortRange);
    this.#reserved = new Set(this.#own.map(({ first }) => first));
    this.#otherNetworks = () => options.otherNetworks?.() ?? [];
    this.#holdings = holdings;
    this.#random = random;
  }

  /** The networks that addresses come from, as they are now. */
  networks(): readonly AddressRange[] {
    return [...this.#own, ...this.#otherNetworks()];
  }

  /** Fills in the addresses and ports. They are kept from others of this server until what is returned is called. */
  create(draft: Draft<V1Service>): () => void {
    if (draft.spec !== undefined) alignClusterIps(draft.spec);
    return this.#allocate(draft);
  }

  /** The same for a change; what the service has already, it keeps. */
  update(draft: Draft<V1Service>, old: V1Service): () => void {
    if (draft.spec !== undefined && old.spec !== undefined) {
      keepAllocated(draft.spec, old.spec);
      alignClusterIps(draft.spec, old.spec);
      dropForType(draft.spec, old.spec);
    }
    return this.#allocate(draft, old);
  }

  readonly #isFree = (address: string): boolean =>
    !this.#reserved.has(address) &&
    !this.#underWay.addresses.has(address) &&
    !this.#holdings.hasAddress(address);

  readonly #isFreePort = (port: number): boolean =>
    !this.#underWay.ports.has(port) && !this.#holdings.hasPort(port);

  #allocate(draft: Draft<V1Service>, old?: V1Service): () => void {
    const taken: (() => void)[] = [];
    const release = () => {
      for (const undo of taken.splice(0)) undo();
    };
    try {
      this.#allocateAddresses(draft, old, taken);
      this.#allocatePorts(draft, old, taken);
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  #allocateAddresses(draft: Draft<V1Service>, old: V1Service | undefined, taken: (() => void)[]): void {
    const { spec } = draft;
    if (spec === undefined || !needsClusterIp(spec)) return;
    const faults = settleFamilies(spec, this.#families);
    if (faults.length > 0) throw refused(draft, faults);
    if (isHeadless(spec)) {
      spec.clusterIP = HEADLESS;
      spec.clusterIPs = [HEADLESS];
      return;
    }
    const asked = spec.clusterIPs ?? [];
    const held = new Set(old === undefined ? [] : addressesOf(old));
    spec.clusterIPs = (spec.ipFamilies ?? []).map((family, at) => {
      const wanted = asked[at] ?? '';
      if (held.has(wanted)) return wanted;
      const address =
        wanted === ''
          ? this.#chooseAddress(family as Family)
          : this.#takeAddress(draft, canonicalIp(wanted) ?? wanted, asked);
      this.#underWay.addresses.add(address);
      taken.push(() => this.#underWay.addresses.delete(address));
      return address;
    });
    const [first] = spec.clusterIPs;
    if (first !== undefined) spec.clusterIP = first;
  }

  #chooseAddress(family: Family): string {
    for (const network of this.networks()) {
      const address = network.family === family ? network.choose(this.#isFree, this.#random) : undefined;
      if (address !== undefined) return address;
    }
    throw exhausted('serviceIP');
  }

  #takeAddress(draft: Draft<V1Service>, wanted: string, asked: readonly string[]): string {
    const refuse = (why: string) =>
      refused(draft, [fault('spec.clusterIPs', asked, `failed to allocate IP ${wanted}: ${why}`)]);
    const around = this.networks().filter((network) => network.covers(wanted));
    if (around.length === 0) throw refuse('the provided network does not match the current range');
    if (!around.some((network) => network.has(wanted)))
      throw refuse(
        `the provided IP (${wanted}) is not in the valid range. The range of valid IPs is ${around[0]?.text}`,
      );
    // Nobody else is given that one.
    const isOwn = this.#reserved.has(wanted) && isKubernetes(draft);
    if (!isOwn && !this.#isFree(wanted)) throw refuse('provided IP is already allocated');
    return wanted;
  }

  #allocatePorts(draft: Draft<V1Service>, old: V1Service | undefined, taken: (() => void)[]): void {
    const { spec } = draft;
    if (spec === undefined) return;
    const mine = new Set(old === undefined ? [] : portsOf(old));
    const take = (wanted: number | undefined, field: string): number => {
      if (wanted && mine.has(wanted)) return wanted;
      const port = this.#takePort(draft, wanted, field);
      mine.add(port);
      this.#underWay.ports.add(port);
      taken.push(() => this.#underWay.ports.delete(port));
      return port;
    };
    if (needsNodePorts(spec)) {
      // Ports that are asked for come first, so that none of them is chosen for another.
      const inOrder = [...(spec.ports ?? []).entries()].sort(
        ([, a], [, b]) => Number(!a.nodePort) - Number(!b.nodePort),
      );
      for (const [at, port] of inOrder) {
        const shared = port.nodePort ? undefined : twinOf(port, spec.ports ?? []);
        port.nodePort = shared ?? take(port.nodePort, `spec.ports[${at}].nodePort`);
      }
    }
    if (!needsHealthCheckPort(spec)) return;
    const wanted = spec.healthCheckNodePort;
    // A port of its own: what asks there for health must not reach the service.
    if (wanted && spec.ports?.some(({ nodePort }) => nodePort === wanted))
      throw refused(draft, [fault('spec.healthCheckNodePort', wanted, 'provided port is already allocated')]);
    spec.healthCheckNodePort = take(wanted, 'spec.healthCheckNodePort');
  }

  #takePort(draft: Draft<V1Service>, wanted: number | undefined, field: string): number {
    if (!wanted) {
      const port = this.ports.choose(this.#isFreePort, this.#random);
      if (port === undefined) throw exhausted('nodePort');
      return port;
    }
    const why = `provided port is not in the valid range. The range of valid ports is ${this.ports.text}`;
    if (!this.ports.has(wanted)) throw refused(draft, [fault(field, wanted, why)]);
    if (!this.#isFreePort(wanted))
      throw refused(draft, [fault(field, wanted, 'provided port is already allocated')]);
    return wanted;
  }
}

/** The node port of the same port in the other protocol, which the two may share (DNS over UDP and TCP). */
function twinOf(port: V1ServicePort, ports: readonly V1ServicePort[]): number | undefined {
  const protocolOf = (one: V1ServicePort) => one.protocol ?? 'TCP';
  const twin = ports.find(
    (one) => one.port === port.port && protocolOf(one) !== protocolOf(port) && one.nodePort,
  );
  return twin?.nodePort;
}

function isKubernetes({ metadata }: V1Service): boolean {
  return metadata?.namespace === 'default' && metadata.name === 'kubernetes';
}

function refused({ metadata }: V1Service, faults: readonly V1StatusCause[]): ApiError {
  return invalid(SERVICES, metadata?.name ?? '', faults);
}

function exhausted(what: string): ApiError {
  return statusError('InternalError', `Internal error occurred: failed to allocate a ${what}: range is full`);
}
