// What Services hold, as the store has it: an IPAddress object for each address, a key for each node port.
// Guarantees: each can be made only once, whichever server makes it; only the Service that made it takes it away.
import type { V1IPAddress, V1Service } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import {
  ALLOCATOR,
  FAMILY_LABEL,
  ipAddressKind,
  MANAGED_BY_LABEL,
} from '../../api/kinds/networking/serviceAddresses.js';
import { IP_ADDRESSES, SERVICES } from '../../api/resources.js';
import type { Write } from '../../store/store.js';
import { encodeForStore } from '../registry/encode.js';
import { nodePortKey, objectKey } from '../registry/keys.js';
import { type ServerContext, timestamp } from '../serverContext.js';
import type { Holdings } from './serviceAllocator.js';
import { addressesOf, portsOf } from './serviceFields.js';

const addressKey = (address: string) => objectKey(IP_ADDRESSES, '', address);

/** `namespace/name`. */
export function ownerOf({ metadata }: V1Service): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}

/** The Service that an IPAddress is of, as `namespace/name`; undefined when it is of something else. */
export function parentOf({ spec }: V1IPAddress): string | undefined {
  const { group = '', resource, namespace, name } = spec?.parentRef ?? {};
  return group === SERVICES.group && resource === SERVICES.resource ? `${namespace}/${name}` : undefined;
}

interface Claim {
  readonly key: string;
  readonly value: Buffer;
}

export class ServiceClaims implements Holdings {
  readonly #server: ServerContext;

  constructor(server: ServerContext) {
    this.#server = server;
  }

  hasAddress(address: string): boolean {
    return this.#cached(address) !== undefined;
  }

  hasPort(port: number): boolean {
    return this.#server.feed.nodePortClaims.has(nodePortKey(port));
  }

  /** What brings the claims from those of `old` to those of `next`. */
  changes(old: V1Service | undefined, next: V1Service | undefined): Write[] {
    const [before, after] = [heldBy(old), heldBy(next)];
    const writes: Write[] = [];
    if (next !== undefined) {
      for (const address of after.addresses)
        if (!before.addresses.has(address))
          writes.push({ verb: 'create', ...this.addressClaim(address, next) });
      for (const port of after.ports)
        if (!before.ports.has(port)) writes.push({ verb: 'create', ...this.portClaim(port, next) });
    }
    if (old !== undefined) {
      for (const address of before.addresses)
        if (!after.addresses.has(address)) writes.push(...this.#freeAddress(address, ownerOf(old)));
      for (const port of before.ports)
        if (!after.ports.has(port)) writes.push(...this.#freePort(port, ownerOf(old)));
    }
    return writes;
  }

  addressClaim(address: string, service: V1Service): Claim {
    const server = this.#server;
    const time = timestamp(server.now());
    const object = ipAddressOf(address, service, { uid: server.uid(), time });
    return { key: addressKey(address), value: encodeForStore(ipAddressKind, object) };
  }

  portClaim(port: number, service: V1Service): Claim {
    return { key: nodePortKey(port), value: Buffer.from(ownerOf(service)) };
  }

  /** None when another holds it, or nobody does. */
  #freeAddress(address: string, owner: string): Write[] {
    const held = this.#cached(address);
    if (held === undefined || parentOf(held.parse<V1IPAddress>()) !== owner) return [];
    return [{ verb: 'delete', key: held.key, expected: held.revision }];
  }

  #freePort(port: number, owner: string): Write[] {
    const held = this.#server.feed.nodePortClaims.get(nodePortKey(port));
    if (held === undefined || held.value.toString() !== owner) return [];
    return [{ verb: 'delete', key: held.key, expected: held.revision }];
  }

  #cached(address: string) {
    return this.#server.feed.cacheOf(ipAddressKind).get(addressKey(address));
  }
}

function heldBy(service: V1Service | undefined) {
  return {
    addresses: new Set(service === undefined ? [] : addressesOf(service)),
    ports: new Set(service === undefined ? [] : portsOf(service)),
  };
}

function ipAddressOf(
  address: string,
  { metadata }: V1Service,
  { uid, time }: { readonly uid: string; readonly time: string },
): V1IPAddress {
  const { namespace = '', name = '' } = metadata ?? {};
  const parentRef: Draft<V1IPAddress['spec']['parentRef']> = { resource: SERVICES.resource, namespace, name };
  return {
    metadata: {
      name: address,
      uid,
      creationTimestamp: time,
      labels: {
        [FAMILY_LABEL]: address.includes(':') ? 'IPv6' : 'IPv4',
        [MANAGED_BY_LABEL]: ALLOCATOR,
      },
    },
    spec: { parentRef },
  };
}
