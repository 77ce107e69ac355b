// The cluster's pod networks: which subnets nodes hold, and which one a node gets. Pure.
// Guarantees: gives out only subnets of the pool, none that overlaps what a node holds, also of another size, and none that
// `inUse` names; a node that comes back under its name gets its last networks as long as nobody else has them.
import { type Cidr, type Family, formatCidr, overlaps, parseCidr, parseIp, subnets } from '../../api/ip.js';

export type NodePrefixes = Readonly<Record<Family, number>>;
const NODE_PREFIXES: NodePrefixes = { IPv4: 24, IPv6: 64 };

/** Of the addresses whose subnet is remembered. */
const MOST_REMEMBERED = 50_000;

interface Wish {
  /** Networks that the node should have if they are free, such as those of its pods. */
  readonly preferred?: readonly string[];
  /** Whether somebody uses the network though no node holds it. */
  inUse?(cidr: string): boolean;
}

interface Pool {
  readonly cidr: Cidr;
  readonly prefix: number;
  readonly never: Generator<Cidr, void>;
  /** Given back or passed over, and who had it last; the first was free the longest. */
  readonly returned: Map<string, string>;
}

export class CidrPool {
  readonly #pools: readonly Pool[];
  /** Subnets of the pools, by their text. */
  readonly #taken = new Map<string, Set<string>>();
  /** Networks of another size than the pool's: the flag may have changed since. */
  readonly #odd = new Map<string, { readonly cidr: Cidr; readonly owners: Set<string> }>();

  /** By address: what `subnetOf` answered. */
  readonly #subnets = new Map<string, string | undefined>();

  constructor(clusterCidrs: readonly Cidr[], prefixes = NODE_PREFIXES) {
    this.#pools = clusterCidrs.map((cidr) => {
      const prefix = Math.max(cidr.prefix, prefixes[cidr.family]);
      return { cidr, prefix, never: subnets(cidr, prefix), returned: new Map() };
    });
  }

  /** Marks what a node already has. */
  occupy(node: string, cidrs: readonly string[]): void {
    for (const text of cidrs) {
      const cidr = parseCidr(text);
      if (cidr === undefined) continue;
      const key = formatCidr(cidr);
      if (this.#poolOf(cidr) !== undefined) this.#take(key, node);
      else this.#odd.set(key, { cidr, owners: (this.#odd.get(key)?.owners ?? new Set()).add(node) });
    }
  }

  /** One network of each family, or undefined when one of them is used up; then nothing is taken. */
  allocate(node: string, wish: Wish = {}): string[] | undefined {
    const chosen: string[] = [];
    for (const pool of this.#pools) {
      const cidr = this.#choose(pool, node, wish);
      if (cidr === undefined) {
        this.release(node);
        return undefined;
      }
      pool.returned.delete(cidr);
      this.#take(cidr, node);
      chosen.push(cidr);
    }
    return chosen;
  }

  release(node: string): void {
    for (const [key, owners] of this.#taken) {
      if (!owners.delete(node) || owners.size > 0) continue;
      this.#taken.delete(key);
      const cidr = parseCidr(key);
      if (cidr !== undefined) this.#poolOf(cidr)?.returned.set(key, node);
    }
    for (const [key, { owners }] of this.#odd)
      if (owners.delete(node) && owners.size === 0) this.#odd.delete(key);
  }

  /** The pools' subnet that the address is of. Asked for every pod's address at each of its changes. */
  subnetOf(address: string): string | undefined {
    if (this.#subnets.has(address)) return this.#subnets.get(address);
    if (this.#subnets.size >= MOST_REMEMBERED) this.#subnets.clear();
    const subnet = this.#findSubnet(address);
    this.#subnets.set(address, subnet);
    return subnet;
  }

  #findSubnet(address: string): string | undefined {
    const ip = parseIp(address);
    const pool = this.#pools.find(({ cidr }) => ip?.family === cidr.family);
    if (ip === undefined || pool === undefined) return undefined;
    const subnet = parseCidr(`${address}/${pool.prefix}`);
    return subnet !== undefined && overlaps(subnet, pool.cidr) ? formatCidr(subnet) : undefined;
  }

  #choose(pool: Pool, node: string, { preferred = [], inUse = () => false }: Wish): string | undefined {
    const last = [...pool.returned].flatMap(([key, owner]) => (owner === node ? [key] : []));
    const own = [...preferred, ...last].find((text) => {
      const cidr = parseCidr(text);
      return cidr !== undefined && this.#poolOf(cidr) === pool && this.#isFree(cidr) && !inUse(text);
    });
    if (own !== undefined) return own;
    // Never-used networks first: an address is not handed on while something may still know its last owner.
    for (let step = pool.never.next(); !step.done; step = pool.never.next()) {
      const key = formatCidr(step.value);
      if (this.#isFree(step.value) && !inUse(key)) return key;
      // What is not held by a node of this very network may become free without being given back.
      if (!this.#taken.has(key)) pool.returned.set(key, pool.returned.get(key) ?? '');
    }
    return [...pool.returned.keys()].find((key) => {
      const cidr = parseCidr(key);
      return cidr !== undefined && this.#isFree(cidr) && !inUse(key);
    });
  }

  #take(key: string, node: string): void {
    this.#taken.set(key, (this.#taken.get(key) ?? new Set()).add(node));
  }

  #poolOf(subnet: Cidr): Pool | undefined {
    return this.#pools.find(({ cidr, prefix }) => subnet.prefix === prefix && overlaps(subnet, cidr));
  }

  #isFree(cidr: Cidr): boolean {
    if (this.#taken.has(formatCidr(cidr))) return false;
    for (const odd of this.#odd.values()) if (overlaps(odd.cidr, cidr)) return false;
    return true;
  }
}
