// Service ports for tests of the proxy: one with everything usual, changed as the test needs.
import type { Endpoint, IpFamily, ProxyState, ServicePort } from '../../../proxy-modes/mode.js';

export const endpoint = (ip: string, local = true, port = 8080): Endpoint => ({ ip, port, local });

/** `default/s<n>`, cluster IP 10.96.0.n (fd00:96::n), one local endpoint 10.244.0.n (fd00:244::n). */
export function servicePort(n: number, more: Partial<ServicePort> = {}): ServicePort {
  const { family = 'ip', protocol = 'tcp' } = more;
  return {
    key: `default/s${n}:http/${protocol}/${family}`,
    name: `default/s${n}:http`,
    family,
    protocol,
    clusterIp: family === 'ip' ? `10.96.0.${n}` : `fd00:96::${n}`,
    port: 80,
    externalIps: [],
    loadBalancerIps: [],
    sourceRanges: [],
    internalLocal: false,
    externalLocal: false,
    endpoints: [endpoint(podIp(n, family))],
    localEndpoints: [],
    served: true,
    ...more,
  };
}

const podIp = (n: number, family: IpFamily = 'ip') => (family === 'ip' ? `10.244.0.${n}` : `fd00:244::${n}`);

export const stateOf = (...ports: readonly ServicePort[]): ProxyState =>
  new Map(ports.map((port) => [port.key, port]));

/** Deterministic random numbers (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Numbers of addresses and node ports, each held by one key at a time: what one lets go another may take in the same sync. */
export class Places {
  readonly #next: () => number;
  readonly #size: number;

  readonly #held = new Map<string, number>();

  constructor(next: () => number, size: number) {
    this.#next = next;
    this.#size = size;
  }

  /** Another place for the key, or the same; each family has its own places. */
  move(key: string, family: IpFamily): number {
    this.leave(key);
    const taken = new Set(
      [...this.#held].filter(([other]) => other.endsWith(`/${family}`)).map(([, at]) => at),
    );
    const free = Array.from({ length: this.#size }, (_, at) => at).filter((at) => !taken.has(at));
    const place = free[Math.floor(this.#next() * free.length)] ?? 0;
    this.#held.set(key, place);
    return place;
  }

  leave(key: string): void {
    this.#held.delete(key);
  }
}

/** One of many shapes of a service: addresses, policies, affinity, source ranges, up to three endpoints or none. */
export function randomPort(
  next: () => number,
  n: number,
  { place = n, ...more }: Pick<Partial<ServicePort>, 'family' | 'protocol'> & { place?: number } = {},
): ServicePort {
  const { family = 'ip' } = more;
  const below = (limit: number) => Math.floor(next() * limit);
  const maybe = <T>(chance: number, value: T): T | undefined => (next() < chance ? value : undefined);
  const all = Array.from({ length: below(4) }, (_, i) => endpoint(podIp(i + 1, family), next() < 0.7));
  const internalLocal = next() < 0.2;
  const externalLocal = next() < 0.3;
  const nodePort = maybe(0.4, 30_000 + place);
  const affinitySeconds = maybe(0.3, 10 * (1 + below(2)));
  const [external, balancer, ranges] =
    family === 'ip'
      ? ['192.0.2.', '198.51.100.', ['203.0.113.0/24', '10.0.0.0/8', '172.16.0.0/12']]
      : ['2001:db8:1::', '2001:db8:2::', ['2001:db8:3::/48', 'fd00::/8', '2001:db8:10::/45']];
  return servicePort(n + 1, {
    ...more,
    endpoints: all,
    localEndpoints: internalLocal || externalLocal ? all.filter(({ local }) => local) : [],
    served: all.length > 0 || next() < 0.3,
    internalLocal,
    externalLocal,
    clusterIp: servicePort(place + 1, more).clusterIp,
    externalIps: maybe(0.3, [`${external}${place + 1}`]) ?? [],
    loadBalancerIps: maybe(0.3, [`${balancer}${place + 1}`]) ?? [],
    sourceRanges: maybe(0.3, ranges) ?? [],
    ...(nodePort === undefined ? {} : { nodePort }),
    ...(affinitySeconds === undefined ? {} : { affinitySeconds }),
  });
}

/** A state like the one before, with about half of eight services changed in any way a service can change. */
export function randomState(next: () => number, before: ProxyState): ProxyState {
  const kept = new Map([...before].filter(() => next() < 0.5));
  // Addresses and node ports of those that change go to any of them.
  const used = new Set([...kept.values()].map(({ clusterIp }) => clusterIp));
  const free = Array.from({ length: 8 }, (_, place) => place)
    .filter((place) => !used.has(servicePort(place + 1).clusterIp))
    .sort(() => next() - 0.5);
  const ports = Array.from({ length: 8 }, (_, n) => {
    const old = kept.get(servicePort(n + 1).key);
    if (old !== undefined) return [old];
    const place = free.pop() ?? n;
    return next() < 0.3 ? [] : [randomPort(next, n, { place })];
  });
  return stateOf(...ports.flat());
}

/** Twelve states, each like the one before, with the keys that differ. */
export async function eachRandomState(
  next: () => number,
  follow: (state: ProxyState, changed: ReadonlySet<string>) => Promise<void>,
): Promise<void> {
  let state: ProxyState = new Map();
  for (let round = 0; round < 12; round++) {
    const before = state;
    state = randomState(next, state);
    const keys = [...before.keys(), ...state.keys()];
    await follow(state, new Set(keys.filter((key) => before.get(key) !== state.get(key))));
  }
}
