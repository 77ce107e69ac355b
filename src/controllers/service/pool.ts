// Addresses for Services of type LoadBalancer, out of a configured pool. Pure.
// Guarantees: an address is given to one Service at a time; one that is held is kept for as long as it is wanted.
import type { V1Service } from '../../api/gen/types.js';
import { addressAt, type Cidr, canonicalIp, cidrSize, contains, parseIp } from '../../api/ip.js';
import { keyOf, type Stored } from '../../api/object.js';

export type Service = Stored<V1Service>;

/** So large a pool is never walked to its end. */
const MOST_TRIES = 65_536n;

export const wantsBalancer = ({ spec, metadata }: Service): boolean =>
  spec.type === 'LoadBalancer' &&
  spec.loadBalancerClass === undefined &&
  metadata.deletionTimestamp === undefined;

export const addressesOf = ({ status }: Service): readonly string[] =>
  (status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip]));

type PoolPlan =
  | { readonly do: 'nothing' }
  | { readonly do: 'set'; readonly addresses: readonly string[] }
  | { readonly do: 'wait'; readonly message: string };

export function planBalancer(
  service: Service,
  services: readonly Service[],
  pools: readonly Cidr[],
): PoolPlan {
  const held = addressesOf(service);
  if (!wantsBalancer(service)) return held.length === 0 ? { do: 'nothing' } : { do: 'set', addresses: [] };
  const taken = new Set(
    services
      .filter((other) => keyOf(other.metadata) !== keyOf(service.metadata) && wantsBalancer(other))
      .flatMap(addressesOf),
  );
  const addresses: string[] = [];
  for (const family of service.spec.ipFamilies ?? ['IPv4']) {
    const own = pools.filter((pool) => pool.family === family);
    const asked =
      family === 'IPv4' || !service.spec.loadBalancerIP?.includes('.')
        ? service.spec.loadBalancerIP
        : undefined;
    const kept = held.find(
      (ip) => parseIp(ip)?.family === family && !taken.has(ip) && own.some((pool) => contains(pool, ip)),
    );
    const address = asked ? freeIf(asked, own, taken) : (kept ?? firstFree(own, taken));
    if (address !== undefined) addresses.push(address);
    else if (asked) return { do: 'wait', message: `address ${asked} is not in the pool or not free` };
  }
  if (addresses.length === 0)
    return { do: 'wait', message: 'the pool of load balancer addresses has no free one' };
  const same =
    addresses.length === held.length && addresses.every((address, index) => address === held[index]);
  return same ? { do: 'nothing' } : { do: 'set', addresses };
}

function freeIf(asked: string, pools: readonly Cidr[], taken: ReadonlySet<string>): string | undefined {
  const address = canonicalIp(asked);
  if (address === undefined || taken.has(address)) return undefined;
  return pools.some((pool) => contains(pool, address)) ? address : undefined;
}

/** The first and the last address of an IPv4 network are not hosts'. */
function firstFree(pools: readonly Cidr[], taken: ReadonlySet<string>): string | undefined {
  for (const pool of pools) {
    const size = cidrSize(pool);
    const edge = size > 2n ? 1n : 0n;
    const end = size - edge < MOST_TRIES ? size - edge : MOST_TRIES;
    for (let index = edge; index < end; index++) {
      const address = addressAt(pool, index);
      if (!taken.has(address)) return address;
    }
  }
  return undefined;
}
