// Addresses and node ports of Services: taken before a Service is written, given back if the write fails or it goes.
// Guarantees: no two Services hold one address or one port; after a restart the holdings are those of the stored Services.
import type { V1Service, V1ServicePort, V1StatusCause } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { SERVICES } from '../../api/resources.js';
import { type ApiError, invalid, statusError } from '../../api/status.js';
import type { WriteHooks } from '../machinery.js';
import { AddressRange } from './addressRange.js';
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

export interface ServiceAllocatorOptions {
  /** One, or one of each family; the first is the default family. */
  readonly serviceCidrs: readonly string[];
  /** `30000-32767` unless given. */
  readonly nodePortRange?: string;
  /** The Services in the store at start. */
  readonly services: readonly V1Service[];
  random?(): number;
}

export interface ServiceAllocator extends WriteHooks {
  /** The hooks that the apiserver runs around writes of Services; what they return takes back what they took. */
  beforeCreate(draft: Draft<KubeObject>): () => void;
  beforeUpdate(draft: Draft<KubeObject>, old: KubeObject): () => void;
  afterUpdate(written: KubeObject, old: KubeObject): void;
  afterDelete(old: KubeObject): void;
}

export function makeServiceAllocator(options: ServiceAllocatorOptions): ServiceAllocator {
  const { serviceCidrs, nodePortRange = '30000-32767', random = Math.random } = options;
  const networks = serviceCidrs.map((cidr) => new AddressRange(cidr, random));
  const families = networks.map(({ family }) => family);
  if (families.length === 0 || new Set(families).size !== families.length)
    throw new AllocationError('BAD_RANGE', 'give one service network, or one of IPv4 and one of IPv6');
  const ports = new PortRange(nodePortRange, random);
  const networkOf = (address: string) =>
    networks.find(({ family }) => family === (address.includes(':') ? 'IPv6' : 'IPv4'));
  const releaseAddress = (address: string) => networkOf(address)?.release(address);

  for (const service of options.services) adopt(service);

  /** Takes what a stored Service holds. Two that hold the same both keep it: refusing is for writes. */
  function adopt(service: V1Service): void {
    for (const address of addressesOf(service)) attempt(() => networkOf(address)?.take(address));
    for (const port of portsOf(service)) attempt(() => ports.take(port));
  }

  function allocate(draft: Draft<V1Service>, old?: V1Service): () => void {
    const taken: (() => void)[] = [];
    const undo = () => {
      for (const release of taken.splice(0)) release();
    };
    try {
      allocateAddresses(draft, old, taken);
      allocatePorts(draft, old, taken);
      return undo;
    } catch (error) {
      undo();
      throw error;
    }
  }

  function allocateAddresses(
    draft: Draft<V1Service>,
    old: V1Service | undefined,
    taken: (() => void)[],
  ): void {
    const { spec } = draft;
    if (spec === undefined || !needsClusterIp(spec)) return;
    const faults = settleFamilies(spec, families);
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
      const network = networks.find((one) => one.family === family);
      if (network === undefined)
        throw refused(draft, [fault(`spec.ipFamilies[${at}]`, family, 'not configured on this cluster')]);
      const address = takeAddress(draft, network, wanted, asked);
      taken.push(() => network.release(address));
      return address;
    });
    const [first] = spec.clusterIPs;
    if (first !== undefined) spec.clusterIP = first;
  }

  function takeAddress(
    draft: Draft<V1Service>,
    network: AddressRange,
    wanted: string,
    asked: readonly string[],
  ): string {
    try {
      if (wanted === '') return network.takeAny();
      if (wanted !== network.first || !isKubernetes(draft)) network.take(wanted);
      return wanted;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      if (error.code === 'FULL') throw exhausted('serviceIP', error);
      throw refused(draft, [
        fault('spec.clusterIPs', asked, `failed to allocate IP ${wanted}: ${error.message}`),
      ]);
    }
  }

  function allocatePorts(draft: Draft<V1Service>, old: V1Service | undefined, taken: (() => void)[]): void {
    const { spec } = draft;
    if (spec === undefined) return;
    const own = new Set(old === undefined ? [] : portsOf(old));
    const take = (wanted: number | undefined, field: string): number => {
      if (wanted && own.has(wanted)) return wanted;
      const port = takePort(draft, wanted, field);
      own.add(port);
      taken.push(() => ports.release(port));
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
    if (needsHealthCheckPort(spec))
      spec.healthCheckNodePort = take(spec.healthCheckNodePort, 'spec.healthCheckNodePort');
  }

  function takePort(draft: Draft<V1Service>, wanted: number | undefined, field: string): number {
    try {
      if (!wanted) return ports.takeAny();
      ports.take(wanted);
      return wanted;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      if (error.code === 'FULL') throw exhausted('nodePort', error);
      throw refused(draft, [fault(field, wanted, error.message)]);
    }
  }

  return {
    beforeCreate(draft) {
      const service = draft as Draft<V1Service>;
      if (service.spec !== undefined) alignClusterIps(service.spec);
      return allocate(service);
    },
    beforeUpdate(draft, before) {
      const service = draft as Draft<V1Service>;
      const old = before as V1Service;
      if (service.spec !== undefined && old.spec !== undefined) {
        keepAllocated(service.spec, old.spec);
        alignClusterIps(service.spec, old.spec);
        dropForType(service.spec, old.spec);
      }
      return allocate(service, old);
    },
    afterUpdate(written, old) {
      const addresses = new Set(addressesOf(written as V1Service));
      const kept = new Set(portsOf(written as V1Service));
      for (const address of addressesOf(old as V1Service))
        if (!addresses.has(address)) releaseAddress(address);
      for (const port of portsOf(old as V1Service)) if (!kept.has(port)) ports.release(port);
    },
    afterDelete(old) {
      addressesOf(old as V1Service).forEach(releaseAddress);
      for (const port of portsOf(old as V1Service)) ports.release(port);
    },
  };
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

function exhausted(what: string, cause: AllocationError): ApiError {
  const message = `Internal error occurred: failed to allocate a ${what}: ${cause.message}`;
  return statusError('InternalError', message, undefined, { cause });
}

function attempt(take: () => void): void {
  try {
    take();
  } catch (error) {
    if (!(error instanceof AllocationError)) throw error;
  }
}
