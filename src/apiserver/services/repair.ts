// Finds where Services and their claims disagree, and says what mends it. Pure.
// Guarantees: a claim that its Service does not hold is freed once it is old enough; a missing one is made.
import type { V1IPAddress, V1Service } from '../../api/gen/types.js';
import { ALLOCATOR, FAMILY_LABEL, MANAGED_BY_LABEL } from '../../api/kinds/networking/serviceAddresses.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { IP_ADDRESSES, type ResourceType, SERVICES } from '../../api/resources.js';
import type { Entry } from '../../store/store.js';
import { ownerOf, parentOf } from './claims.js';
import { addressesOf, portsOf } from './serviceFields.js';

/** The second address of a Service is written on its own: it may be a moment older than its Service. */
const YOUNG_MS = 60_000;

export interface ServiceState {
  readonly services: readonly Stored<V1Service>[];
  readonly addresses: readonly Stored<V1IPAddress>[];
  /** Claims of node ports: the value is the Service, as `namespace/name`. */
  readonly ports: ReadonlyMap<number, Entry>;
  hasNetwork(address: string): boolean;
  isInRange(port: number): boolean;
  readonly now: number;
}

export type Repair =
  | { readonly what: 'claimAddress'; readonly address: string; readonly service: Stored<V1Service> }
  /** It names another than the Service that holds the address, or lacks the allocator's labels. */
  | {
      readonly what: 'replaceAddress';
      readonly object: Stored<V1IPAddress>;
      readonly service: Stored<V1Service>;
    }
  | { readonly what: 'freeAddress'; readonly object: Stored<V1IPAddress> }
  | { readonly what: 'claimPort'; readonly port: number; readonly service: Stored<V1Service> }
  | {
      readonly what: 'replacePort';
      readonly port: number;
      readonly claim: Entry;
      readonly service: Stored<V1Service>;
    }
  | { readonly what: 'freePort'; readonly claim: Entry }
  /** Only told: a person has to choose. */
  | {
      readonly what: 'tell';
      readonly service: Stored<V1Service>;
      readonly reason: string;
      readonly message: string;
    };

export interface RepairEvent {
  readonly type: ResourceType;
  readonly about: KubeObject;
  readonly reason: string;
  readonly message: string;
}

/** What is told of a repair, by Kubernetes' reasons; a port that no Service holds concerns no object. */
export function eventOf(repair: Repair): RepairEvent | undefined {
  if (repair.what === 'freePort') return undefined;
  if (repair.what === 'freeAddress') {
    const message = 'No Service holds this address; freed';
    return { type: IP_ADDRESSES, about: repair.object, reason: 'IPAddressNotAllocated', message };
  }
  return { type: SERVICES, about: repair.service, ...saying(repair) };
}

function saying(repair: Exclude<Repair, { what: 'freePort' | 'freeAddress' }>) {
  switch (repair.what) {
    case 'tell':
      return { reason: repair.reason, message: repair.message };
    case 'claimAddress':
      return {
        reason: 'ClusterIPNotAllocated',
        message: `Cluster IP ${repair.address} was not allocated; repaired`,
      };
    case 'replaceAddress':
      return {
        reason: 'ClusterIPNotAllocated',
        message: `IPAddress ${repair.object.metadata.name} was not this Service's; repaired`,
      };
    case 'claimPort':
      return { reason: 'PortNotAllocated', message: `Port ${repair.port} was not allocated; repaired` };
    case 'replacePort':
      return { reason: 'PortNotAllocated', message: `Port ${repair.port} was not this Service's; repaired` };
  }
}

export function planRepair(state: ServiceState): readonly Repair[] {
  return [...addressRepairs(state), ...portRepairs(state)];
}

function* addressRepairs({ services, addresses, hasNetwork, now }: ServiceState): Generator<Repair> {
  const objects = new Map(addresses.map((object) => [object.metadata.name, object]));
  const holders = holdersOf(services, addressesOf);
  for (const [address, [first, ...others]] of holders) {
    const object = objects.get(address);
    const owner = [first, ...others].find((service) => object && ownerOf(service) === parentOf(object));
    for (const service of [first, ...others])
      if (!hasNetwork(address))
        yield tell(
          service,
          'ClusterIPOutOfRange',
          `Cluster IP ${address} is in no Service CIDR; please recreate the Service`,
        );
    for (const service of [first, ...others])
      if (service !== (owner ?? first))
        yield tell(
          service,
          'ClusterIPAlreadyAllocated',
          `Cluster IP ${address} is also another Service's; please recreate the Service`,
        );
    if (object === undefined) yield { what: 'claimAddress', address, service: first };
    else if (owner === undefined || !isLabelled(object))
      yield { what: 'replaceAddress', object, service: owner ?? first };
  }
  for (const object of addresses) {
    const { name, creationTimestamp, labels } = object.metadata;
    if (labels?.[MANAGED_BY_LABEL] !== ALLOCATOR || holders.has(name)) continue;
    if (now - Date.parse(creationTimestamp ?? '') > YOUNG_MS) yield { what: 'freeAddress', object };
  }
}

function* portRepairs({ services, ports, isInRange }: ServiceState): Generator<Repair> {
  const holders = holdersOf(services, portsOf);
  for (const [port, [first, ...others]] of holders) {
    const claim = ports.get(port);
    const owner = [first, ...others].find((service) => ownerOf(service) === claim?.value.toString());
    for (const service of [first, ...others]) {
      if (!isInRange(port))
        yield tell(
          service,
          'PortOutOfRange',
          `Port ${port} is not in the range of node ports; please recreate the Service`,
        );
      if (service !== (owner ?? first))
        yield tell(
          service,
          'PortAlreadyAllocated',
          `Port ${port} is also another Service's; please recreate the Service`,
        );
    }
    if (claim === undefined) yield { what: 'claimPort', port, service: first };
    else if (owner === undefined) yield { what: 'replacePort', port, claim, service: first };
  }
  for (const [port, claim] of ports) if (!holders.has(port)) yield { what: 'freePort', claim };
}

/** Who holds what; the first of several is the oldest, so that its right is kept. */
function holdersOf<T>(
  services: readonly Stored<V1Service>[],
  heldBy: (service: V1Service) => readonly T[],
): ReadonlyMap<T, readonly [Stored<V1Service>, ...Stored<V1Service>[]]> {
  const age = ({ metadata }: Stored<V1Service>) => metadata.creationTimestamp ?? '';
  const holders = new Map<T, [Stored<V1Service>, ...Stored<V1Service>[]]>();
  for (const service of [...services].sort((a, b) => (age(a) < age(b) ? -1 : age(a) > age(b) ? 1 : 0)))
    for (const one of heldBy(service)) {
      const held = holders.get(one);
      if (held === undefined) holders.set(one, [service]);
      else held.push(service);
    }
  return holders;
}

function isLabelled({ metadata: { name, labels } }: Stored<V1IPAddress>): boolean {
  const family = name.includes(':') ? 'IPv6' : 'IPv4';
  return labels?.[MANAGED_BY_LABEL] === ALLOCATOR && labels[FAMILY_LABEL] === family;
}

function tell(service: Stored<V1Service>, reason: string, message: string): Repair {
  return { what: 'tell', service, reason, message };
}
