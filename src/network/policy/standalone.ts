// The policy engine alone: for nodes whose pods are made by any kubelet and any network that gives them addresses.
// Guarantees: it is told as soon as the pods' ranges are known and every policy is in place; ending it leaves the rules.
import type { V1Node } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { Stored } from '../../api/object.js';
import { NODES } from '../../api/resources.js';
import type { Informers } from '../../client/informer.js';
import { openConntrack } from '../../kernel/conntrack/adapter.js';
import type { ConntrackPort } from '../../kernel/conntrack/port.js';
import { openNft } from '../../kernel/nftables/adapter.js';
import { openRoute } from '../../kernel/route/adapter.js';
import { PolicyEnforcer } from './enforcer.js';
import { servePolicyMetrics } from './metrics.js';

export interface PolicyEngineOptions {
  readonly nodeName: string;
  readonly informers: Informers;
  readonly table: string;
  /** The networks of this node's pods, closed before the API server answers; those of the Node when left out. */
  readonly podCidrs?: readonly string[] | undefined;
  /** Where metrics are served; nowhere when left out. */
  readonly metrics?: { readonly host: string; readonly port: number } | undefined;
  /** Connections that are refused are logged; an error where the kernel cannot tell of them. */
  readonly logsRefused?: boolean | undefined;
  readonly log: Log;
}

export interface PolicyEngine {
  readonly enforcer: PolicyEnforcer;
  close(): Promise<void>;
}

/** Enforces nothing yet; what a former process wrote is in force. */
export async function openPolicyEngine(
  options: Omit<PolicyEngineOptions, 'informers' | 'metrics' | 'podCidrs'>,
): Promise<PolicyEngine> {
  const { log } = options;
  const [nft, route] = await Promise.all([openNft(), openRoute()]);
  const conntrack = await openConntrack().catch((error: unknown): ConntrackPort | undefined => {
    log.warn('connections that a new policy forbids will live on: no connection tracking', { error });
    return undefined;
  });
  const closePorts = () => {
    for (const port of [nft, route, conntrack]) port?.close();
  };
  try {
    const enforcer = new PolicyEnforcer({ ...options, nft, route, conntrack });
    return { enforcer, close: () => enforcer.stop().finally(closePorts) };
  } catch (error) {
    closePorts();
    throw error;
  }
}

/** Resolves when every policy is in place, to the function that ends it. */
export async function startPolicyEngine(options: PolicyEngineOptions): Promise<() => Promise<void>> {
  const { informers } = options;
  const { enforcer, close } = await openPolicyEngine(options);
  const server =
    options.metrics &&
    (await servePolicyMetrics(options.metrics, () => enforcer.metrics()).catch(async (error: unknown) => {
      await close();
      throw error;
    }));
  const end = () => Promise.resolve(server?.close()).finally(close);
  const closing =
    options.podCidrs === undefined
      ? followNode(options, enforcer)
      : enforcer.setPodRanges(options.podCidrs).then(() => () => {});
  const off = await closing.catch(async (error: unknown) => {
    await end();
    throw error;
  });
  enforcer.follow(informers);
  await enforcer.synced();
  return () => {
    off();
    return end();
  };
}

/** Resolves when the ranges of the Node are closed, if it has any. */
async function followNode(
  { nodeName, informers, log }: PolicyEngineOptions,
  enforcer: PolicyEnforcer,
): Promise<() => void> {
  const nodes = informers.of(NODES, { fieldSelector: `metadata.name=${nodeName}` });
  let known = '';
  const follow = async ({ spec }: Stored<V1Node>) => {
    const ranges = spec?.podCIDRs ?? [];
    if (ranges.join() === known) return;
    known = ranges.join();
    await enforcer
      .setPodRanges(ranges)
      .catch((error: unknown) => log.error("the node's pod ranges could not be closed", { error }));
  };
  await nodes.synced();
  const [node] = nodes.list();
  if (node === undefined)
    log.warn('there is no Node of this name; its pods are found by it', { node: nodeName });
  else await follow(node);
  return nodes.on({ added: follow, updated: follow });
}
