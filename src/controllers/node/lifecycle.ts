// The node lifecycle controller: a node that falls silent is marked, tainted, and its pods are no longer called ready.
// Guarantees: taints follow conditions both ways; eviction begins on few nodes at a time, and never everywhere at once;
// one node or pod that the server refuses stops no other.
import type { V1Lease, V1Node, V1Pod, V1Taint } from '../../api/gen/types.js';
import { LEASES, NODES, PODS } from '../../api/resources.js';
import type { Informer } from '../../client/informer.js';
import type { WorkQueue } from '../../client/workQueue.js';
import { ignoring } from '../claim.js';
import {
  type Controller,
  type ControllerContext,
  newQueue,
  runEvery,
  runLoop,
  sweep,
} from '../controller.js';
import { isReady, type Pod, podCondition, stampOf } from '../pods.js';
import {
  type HealthLimits,
  type Node,
  type NodeHealth,
  nodeCondition,
  observeHealth,
  readiness,
  silentConditions,
} from './health.js';
import { evicts, planTaints } from './taints.js';
import { EVICTION_RATES, type EvictionRates, Zones, zoneOf } from './zones.js';

const LEASE_NAMESPACE = 'kube-node-lease';
const BY_NODE = 'node';

interface NodeLifecycleOptions extends HealthLimits {
  readonly periodMs: number;
  readonly eviction: EvictionRates;
}

export const NODE_LIFECYCLE_DEFAULTS: NodeLifecycleOptions = {
  gracePeriodMs: 40_000,
  startupGracePeriodMs: 60_000,
  periodMs: 5_000,
  eviction: EVICTION_RATES,
};

const NAME = 'node-lifecycle-controller';

/** The pods of a node, by its name. */
export function podsByNode(pods: Informer<V1Pod>): (nodeName: string) => readonly Pod[] {
  pods.index(BY_NODE, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));
  return (nodeName) => pods.byIndex(BY_NODE, nodeName);
}

export const nodeLifecycleController = (options: NodeLifecycleOptions): Controller => ({
  name: NAME,
  async run(context) {
    const lifecycle = new NodeLifecycle(context, options);
    lifecycle.watch();
    await Promise.all([
      runEvery(context, { name: NAME, periodMs: options.periodMs, tick: () => lifecycle.monitor() }),
      // One worker: the rate of a zone is shared by its nodes.
      runLoop(context, NAME, {
        queue: lifecycle.queue,
        workers: 1,
        reconcile: (name) => lifecycle.reconcile(name),
      }),
    ]);
  },
});

class NodeLifecycle {
  readonly #context: ControllerContext;
  readonly #options: NodeLifecycleOptions;
  readonly #nodes: Informer<V1Node>;
  readonly #leases: Informer<V1Lease>;
  readonly #podsOn: ReturnType<typeof podsByNode>;
  readonly #health = new Map<string, NodeHealth>();
  readonly #lastEvicted = new Map<string, number>();
  readonly #zones: Zones;
  readonly queue: WorkQueue;

  constructor(context: ControllerContext, options: NodeLifecycleOptions) {
    const { informers } = context;
    this.#context = context;
    this.#options = options;
    this.#nodes = informers.of(NODES);
    this.#leases = informers.of(LEASES, { namespace: LEASE_NAMESPACE });
    this.#podsOn = podsByNode(informers.of(PODS));
    this.#zones = new Zones(options.eviction);
    this.queue = newQueue(context);
  }

  watch(): void {
    const see = (node: Node) => {
      this.#zones.set(node);
      this.queue.add(node.metadata.name);
    };
    this.#nodes.on({
      added: (node) => {
        see(node);
        this.#tell(node, 'RegisteredNode', `Registered Node ${node.metadata.name} in Controller`);
      },
      updated: see,
      deleted: (node) => {
        this.#zones.delete(node);
        this.#health.delete(node.metadata.uid);
        this.#tell(node, 'RemovingNode', `Removing Node ${node.metadata.name} from Controller`);
      },
    });
  }

  #tell(node: Node, reason: string, what: string): void {
    const message = `Node ${node.metadata.name} event: ${what}`;
    this.#context.record(NODES, node, { type: 'Normal', reason, message });
  }

  async monitor(): Promise<void> {
    const context = this.#context;
    const now = context.now();
    await sweep(context, { name: NAME, items: this.#nodes.list() }, async (node) => {
      const { uid, name } = node.metadata;
      const lease = this.#leases.get(`${LEASE_NAMESPACE}/${name}`);
      const record = observeHealth(this.#health.get(uid), node, lease, now);
      this.#health.set(uid, record);
      const conditions = silentConditions(node, record, this.#options, now);
      if (conditions !== undefined) await markSilent(context, node, conditions);
      // A kubelet that says "not ready" speaks for its pods itself; only for a silent one must we.
      if (nodeCondition(node, 'Ready')?.status === 'Unknown') await markPods(context, this.#podsOn(name));
      if (readiness(node) !== 'True') this.queue.add(name);
    });
  }

  async reconcile(name: string): Promise<undefined> {
    const node = this.#nodes.get(name);
    if (node === undefined) return undefined;
    const now = this.#context.now();
    const zone = zoneOf(node);
    const isItsTurn = evicts(node) || isDue(this.#lastEvicted.get(zone), this.#zones.rateOf(zone), now);
    const mayEvict = isItsTurn && !this.#zones.allDown;
    const taints = planTaints({ node, mayEvict, now });
    if (taints === undefined) return undefined;
    if (mayEvict && !evicts(node) && readiness(node) !== 'True') this.#lastEvicted.set(zone, now);
    await writeTaints(this.#context, node, taints);
    return undefined;
  }
}

function isDue(beforeMs: number | undefined, ratePerSecond: number, now: number): boolean {
  if (ratePerSecond === 0) return false;
  return beforeMs === undefined || now - beforeMs >= 1000 / ratePerSecond;
}

async function markSilent(
  context: ControllerContext,
  node: Node,
  conditions: NonNullable<Node['status']['conditions']>,
) {
  const status = { ...node.status, conditions };
  // A conflict means that the node has just spoken.
  await ignoring(
    ['Conflict', 'NotFound'],
    context.client.of(NODES).update({ ...node, status }, { subresource: 'status' }),
  );
  const message = `Node ${node.metadata.name} status is now: NodeNotReady`;
  if (readiness(node) === 'True')
    context.record(NODES, node, { type: 'Normal', reason: 'NodeNotReady', message });
}

async function writeTaints(
  { client }: ControllerContext,
  node: Node,
  taints: readonly V1Taint[],
): Promise<void> {
  const { name, uid, resourceVersion } = node.metadata;
  const patch = { metadata: { uid, resourceVersion }, spec: { taints } };
  await ignoring(['NotFound'], client.of(NODES).patch({ name }, 'merge', patch));
}

/** A silent node cannot say that its pods are gone; Services must not send there any longer. */
async function markPods(
  context: ControllerContext,
  pods: ReturnType<Informer<Pod>['byIndex']>,
): Promise<void> {
  const { client, now } = context;
  await sweep(context, { name: NAME, items: pods }, async (pod) => {
    const ready = podCondition(pod, 'Ready');
    if (!isReady(pod) || ready === undefined) return;
    const condition = {
      ...ready,
      status: 'False',
      reason: 'NodeNotReady',
      lastTransitionTime: stampOf(now()),
    };
    const conditions = (pod.status?.conditions ?? []).map((other) =>
      other.type === 'Ready' ? condition : other,
    );
    const status = { ...pod.status, conditions };
    await ignoring(
      ['Conflict', 'NotFound'],
      client.of(PODS).update({ ...pod, status }, { subresource: 'status' }),
    );
  });
}
