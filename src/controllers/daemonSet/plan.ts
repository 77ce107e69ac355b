// Which pods a DaemonSet makes and deletes: one on each node it belongs to, the update within its limits. Pure.
// Guarantees: never two pods of one template on a node; an update never takes more down than maxUnavailable, and
// does not wait for a node whose pod ended.
import type { Node } from '../node/health.js';
import { isFinished, isReady, isTerminating, type Pod } from '../pods.js';
import { byAge, groupByNode, isAvailable, isOf, type NodePods } from './nodePods.js';
import { belongsOn, type DaemonSet } from './nodes.js';
import { planRollingUpdate, surges } from './rollingUpdate.js';

/** As in Kubernetes: a huge wish is met in several rounds. */
const BURST = 250;

export interface DaemonSetObserved {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  /** What the set holds. */
  readonly pods: readonly Pod[];
  /** Of the template that is wanted. */
  readonly hash: string;
  readonly now: number;
}

interface DaemonSetPlan {
  /** Names of nodes that get a pod. */
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Among those removed: pods that ended by themselves and may end again at once. */
  readonly ended: readonly Pod[];
}

export function planDaemonSet(observed: DaemonSetObserved): DaemonSetPlan {
  const { set, now, hash } = observed;
  if (set.metadata.deletionTimestamp !== undefined) return { create: [], remove: [], ended: [] };
  const create: string[] = [];
  const remove: Pod[] = [];
  const ended: Pod[] = [];
  const places: NodePods[] = [];
  const podsOf = groupByNode(observed.pods);
  for (const node of observed.nodes) {
    const pods = podsOf.get(node.metadata.name) ?? [];
    const { shouldRun, mayStay } = belongsOn(set, node);
    if (shouldRun) places.push({ node, pods });
    if (shouldRun && pods.length === 0) create.push(node.metadata.name);
    else if (!mayStay) remove.push(...pods.filter((pod) => !isTerminating(pod)));
    else {
      const surplus = planPlace(pods, { set, hash, now });
      remove.push(...surplus.remove);
      ended.push(...surplus.ended);
    }
  }
  // Pods for nodes that are gone before a kubelet ever had them.
  const known = new Set(observed.nodes.map(({ metadata }) => metadata.name));
  for (const [name, pods] of podsOf)
    if (!known.has(name)) remove.push(...pods.filter((pod) => !isTerminating(pod) && !pod.spec.nodeName));
  // One that ended may have to wait before it goes: the other nodes do not wait for it.
  if (create.length + remove.length === ended.length) {
    const update = planRollingUpdate({ set, places, hash, now });
    create.push(...update.create);
    remove.push(...update.remove.filter((pod) => !remove.includes(pod)));
  }
  return { create: create.slice(0, BURST), remove: remove.slice(0, BURST), ended };
}

type Wish = Pick<DaemonSetObserved, 'set' | 'hash' | 'now'>;

function planPlace(pods: readonly Pod[], { set, hash, now }: Wish): Pick<DaemonSetPlan, 'remove' | 'ended'> {
  const live = pods.filter((pod) => !isTerminating(pod));
  const ended = live.filter(isFinished);
  const running = live.filter((pod) => !ended.includes(pod)).sort(byAge);
  if (running.length <= 1) return { remove: ended, ended };
  if (!surges(set)) return { remove: [...ended, ...running.slice(1)], ended };
  const current = running.find((pod) => isOf(pod, hash));
  const old = running.find((pod) => !isOf(pod, hash));
  const replaced =
    current !== undefined && old !== undefined && (!isReady(old) || isAvailable(current, set, now));
  const kept = [current, replaced ? undefined : old];
  return { remove: [...ended, ...running.filter((pod) => !kept.includes(pod))], ended };
}
