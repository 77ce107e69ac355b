// Node IPAM: every node gets its own pod network out of the cluster's, one a family.
// Guarantees: no two nodes share a network, also with a late cache; a node that has one keeps it.
import { type Cidr, type Family, formatCidr, parseCidr, subnets } from '../../api/ip.js';
import { NODES } from '../../api/resources.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import type { Node } from './health.js';

const NAME = 'node-ipam-controller';
export type NodePrefixes = Readonly<Record<Family, number>>;
export const NODE_PREFIXES: NodePrefixes = { IPv4: 24, IPv6: 64 };

export class CidrPool {
  readonly #free: { readonly cidr: Cidr; readonly next: Generator<Cidr, void> }[];
  readonly #returned: string[][];
  readonly #taken = new Map<string, string>();

  constructor(clusterCidrs: readonly Cidr[], prefixes = NODE_PREFIXES) {
    this.#free = clusterCidrs.map((cidr) => ({
      cidr,
      next: subnets(cidr, Math.max(cidr.prefix, prefixes[cidr.family])),
    }));
    this.#returned = clusterCidrs.map(() => []);
  }

  /** Marks what a node already has. */
  occupy(node: string, cidrs: readonly string[]): void {
    for (const cidr of cidrs) this.#taken.set(cidr, node);
  }

  /** One network of each family, or undefined when one of them is used up; then nothing is taken. */
  allocate(node: string): string[] | undefined {
    const chosen: string[] = [];
    for (const index of this.#free.keys()) {
      const cidr = this.#nextFree(index);
      if (cidr === undefined) {
        this.release(node);
        return undefined;
      }
      this.#taken.set(cidr, node);
      chosen.push(cidr);
    }
    return chosen;
  }

  release(node: string): void {
    for (const [cidr, owner] of this.#taken) {
      if (owner !== node) continue;
      this.#taken.delete(cidr);
      const parsed = parseCidr(cidr);
      const index = this.#free.findIndex((pool) => pool.cidr.family === parsed?.family);
      this.#returned[index]?.push(cidr);
    }
  }

  /** Never-used networks first: an address is not handed on while something may still know its last owner. */
  #nextFree(index: number): string | undefined {
    const pool = this.#free[index];
    for (let step = pool?.next.next(); step !== undefined && !step.done; step = pool?.next.next()) {
      const text = formatCidr(step.value);
      if (!this.#taken.has(text)) return text;
    }
    const returned = this.#returned[index] ?? [];
    for (let text = returned.shift(); text !== undefined; text = returned.shift())
      if (!this.#taken.has(text)) return text;
    return undefined;
  }
}

export function nodeIpamController(clusterCidrs: readonly Cidr[], prefixes?: NodePrefixes): Controller {
  return {
    name: NAME,
    run(context) {
      const nodes = context.informers.of(NODES);
      const pool = new CidrPool(clusterCidrs, prefixes);
      const queue = newQueue(context);
      // By name: our own answer to a node stands until the node is gone, whatever the cache shows.
      const given = new Map<string, readonly string[]>();
      const note = (node: Node) => {
        const cidrs = cidrsOf(node);
        if (cidrs.length === 0) return queue.add(node.metadata.name);
        pool.occupy(node.metadata.name, cidrs);
        given.set(node.metadata.name, cidrs);
      };
      nodes.on({
        added: note,
        updated: note,
        deleted: ({ metadata }) => {
          pool.release(metadata.name);
          given.delete(metadata.name);
        },
      });
      const reconcile = async (name: string): Promise<undefined> => {
        const node = nodes.get(name);
        if (node === undefined || cidrsOf(node).length > 0) return undefined;
        const cidrs = given.get(name) ?? pool.allocate(name);
        if (cidrs === undefined) {
          const message = `Node ${name} status is now: CIDRNotAvailable`;
          context.record(NODES, node, { type: 'Normal', reason: 'CIDRNotAvailable', message });
          throw new Error('the cluster network has no free pod network left');
        }
        given.set(name, cidrs);
        const patch = { metadata: { uid: node.metadata.uid }, spec: { podCIDR: cidrs[0], podCIDRs: cidrs } };
        await context.client.of(NODES).patch({ name }, 'merge', patch);
        return undefined;
      };
      return runLoop(context, NAME, { queue, workers: 1, reconcile });
    },
  };
}

function cidrsOf({ spec }: Node): readonly string[] {
  if (spec.podCIDRs !== undefined && spec.podCIDRs.length > 0) return spec.podCIDRs;
  return spec.podCIDR ? [spec.podCIDR] : [];
}
