// Node IPAM: every node gets its own pod network out of the cluster's, one a family.
// Guarantees: no two nodes share a network, also with a late cache; a node that has one keeps it, also over a deletion of its
// Node while its pods run or nobody else got it; no node gets a network in which a pod of another one runs.
import type { Cidr } from '../../api/ip.js';
import { NODES, PODS } from '../../api/resources.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { isFinished, type Pod } from '../pods.js';
import { CidrPool, type NodePrefixes } from './cidrPool.js';
import type { Node } from './health.js';
import { podsByNode } from './lifecycle.js';

const NAME = 'node-ipam-controller';
const BY_NETWORK = 'pod-network';

export function nodeIpamController(clusterCidrs: readonly Cidr[], prefixes?: NodePrefixes): Controller {
  return {
    name: NAME,
    run(context) {
      const nodes = context.informers.of(NODES);
      const pool = new CidrPool(clusterCidrs, prefixes);
      const pods = context.informers.of(PODS);
      const podsOn = podsByNode(pods);
      const networksOf = ({ spec, status }: Pod): string[] =>
        spec.hostNetwork === true ? [] : (status?.podIPs ?? []).flatMap(({ ip }) => pool.subnetOf(ip) ?? []);
      pods.index(BY_NETWORK, (pod) => (isFinished(pod) ? [] : networksOf(pod)));
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
      /** Pods know where their node is when nobody else does: after a restart here, with their Node deleted. */
      const wishOf = (name: string) => ({
        preferred: podsOn(name)
          .filter((pod) => !isFinished(pod))
          .flatMap(networksOf),
        inUse: (cidr: string) => pods.byIndex(BY_NETWORK, cidr).some(({ spec }) => spec.nodeName !== name),
      });
      const reconcile = async (name: string): Promise<undefined> => {
        const node = nodes.get(name);
        if (node === undefined || cidrsOf(node).length > 0) return undefined;
        const cidrs = given.get(name) ?? pool.allocate(name, wishOf(name));
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
