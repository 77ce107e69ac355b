// The names of a cluster: what Services and EndpointSlices say, ready to be asked. Kept up to date one service at a time.
// Guarantees: a lookup costs the same however many services there are; pure but for its own maps.
import type { V1Endpoint, V1EndpointSlice, V1Service } from '../api/gen/types.js';
import { canonicalIp } from '../api/ip.js';
import { keyOf, type Stored } from '../api/object.js';

interface ServiceName {
  readonly service: string;
  readonly namespace: string;
}

export interface ZonePort {
  readonly name: string;
  /** tcp, udp or sctp. */
  readonly protocol: string;
  readonly port: number;
}

/** One address behind a headless service. */
export interface ZoneEndpoint {
  /** The pod's host name where it has one, else its address with dashes. */
  readonly label: string;
  readonly ip: string;
  readonly ports: readonly ZonePort[];
}

export interface ZoneService extends ServiceName {
  /** Empty when headless. */
  readonly clusterIps: readonly string[];
  /** Lower case, without the last dot. */
  readonly externalName?: string;
  readonly ports: readonly ZonePort[];
  /** Those of a headless service; of any other, only endpoints with a host name. */
  readonly endpoints: readonly ZoneEndpoint[];
}

/** The Service that leads to the name servers; the name that tools and policies know it by. */
export const DNS_SERVICE = { name: 'kube-dns', namespace: 'kube-system' };

/** `10.244.0.2` as a label: `10-244-0-2`. */
export const dashed = (ip: string): string => ip.replaceAll(/[.:]/g, '-');

export function zoneService(
  service: Stored<V1Service>,
  slices: readonly Stored<V1EndpointSlice>[],
): ZoneService {
  const { metadata, spec } = service;
  const headless = spec.clusterIP === 'None';
  const clusterIps =
    spec.type === 'ExternalName' || headless ? [] : (spec.clusterIPs ?? []).filter((ip) => ip !== '');
  const externalName =
    spec.type === 'ExternalName' ? (spec.externalName ?? '').toLowerCase().replace(/\.$/, '') : '';
  const found = slices.flatMap((slice) => endpointsOf(slice, spec.publishNotReadyAddresses === true));
  return {
    service: metadata.name,
    namespace: metadata.namespace ?? '',
    clusterIps,
    ...(externalName === '' ? {} : { externalName }),
    ports: (spec.ports ?? []).map(({ name = '', protocol = 'TCP', port }) => ({
      name,
      protocol: protocol.toLowerCase(),
      port,
    })),
    endpoints: headless ? found : found.filter(({ label, ip }) => label !== dashed(ip)),
  };
}

function endpointsOf(slice: Stored<V1EndpointSlice>, evenIfNotReady: boolean): ZoneEndpoint[] {
  const ports = (slice.ports ?? []).flatMap(({ name = '', protocol = 'TCP', port }) =>
    port === undefined ? [] : [{ name, protocol: protocol.toLowerCase(), port }],
  );
  return (slice.endpoints ?? [])
    .filter((endpoint) => evenIfNotReady || isReady(endpoint))
    .flatMap(({ addresses, hostname }) =>
      addresses.map((ip) => ({ label: (hostname ?? dashed(ip)).toLowerCase(), ip, ports })),
    );
}

const isReady = ({ conditions }: V1Endpoint) => conditions?.ready !== false;

export class Zone {
  readonly #services = new Map<string, ZoneService>();
  /** How many services each namespace has: a namespace's name exists while one does, whatever else is known of it. */
  readonly #namespaces = new Map<string, number>();
  /** Those that are there, with services or without. */
  readonly #known = new Set<string>();
  /** Names by canonical address, for reverse questions. */
  readonly #names = new Map<string, Set<string>>();

  constructor(
    /** Without the last dot, such as `cluster.local`. */
    readonly domain: string,
  ) {}

  set(service: ZoneService): void {
    this.delete(service);
    this.#services.set(keyOf({ namespace: service.namespace, name: service.service }), service);
    this.#namespaces.set(service.namespace, (this.#namespaces.get(service.namespace) ?? 0) + 1);
    for (const [ip, name] of this.#reverse(service))
      this.#names.set(ip, (this.#names.get(ip) ?? new Set()).add(name));
  }

  delete(name: ServiceName): void {
    const key = keyOf({ namespace: name.namespace, name: name.service });
    const old = this.#services.get(key);
    if (old === undefined) return;
    this.#services.delete(key);
    const left = (this.#namespaces.get(old.namespace) ?? 1) - 1;
    if (left === 0) this.#namespaces.delete(old.namespace);
    else this.#namespaces.set(old.namespace, left);
    for (const [ip, host] of this.#reverse(old)) {
      const names = this.#names.get(ip);
      names?.delete(host);
      if (names?.size === 0) this.#names.delete(ip);
    }
  }

  service(name: ServiceName): ZoneService | undefined {
    return this.#services.get(keyOf({ namespace: name.namespace, name: name.service }));
  }

  addNamespace(namespace: string): void {
    this.#known.add(namespace);
  }

  removeNamespace(namespace: string): void {
    this.#known.delete(namespace);
  }

  hasNamespace(namespace: string): boolean {
    return this.#known.has(namespace) || this.#namespaces.has(namespace);
  }

  /** The names of an address, in canonical form. */
  namesOf(ip: string): readonly string[] {
    return [...(this.#names.get(ip) ?? [])].sort();
  }

  /** The full name of a service. */
  nameOf({ service, namespace }: ServiceName): string {
    return `${service}.${namespace}.svc.${this.domain}`;
  }

  *#reverse(service: ZoneService): Generator<readonly [string, string]> {
    const name = this.nameOf(service);
    for (const ip of service.clusterIps) yield [canonicalIp(ip) ?? ip, name];
    for (const { ip, label } of service.endpoints) yield [canonicalIp(ip) ?? ip, `${label}.${name}`];
  }
}
