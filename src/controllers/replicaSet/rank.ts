// Which pods of a ReplicaSet go first when there are too many. Pure.
// Guarantees: a total order, the same for the same pods and clock; the least useful pod comes first.
import { isReady, type Pod, readySince, timeOf } from '../pods.js';

interface RankOptions {
  readonly now: number;
  /** How many pods of the same family stand on a node: doubled-up pods go first. */
  podsOnNode(nodeName: string): number;
}

const PHASES: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

type Criterion = (pod: Pod, options: RankOptions) => number;

/** Each criterion decides only where those before it are even; the lower number goes first. */
const CRITERIA: readonly Criterion[] = [
  ({ spec }) => (spec.nodeName ? 1 : 0),
  ({ status }) => PHASES[status?.phase ?? 'Pending'] ?? 0,
  (pod) => (isReady(pod) ? 1 : 0),
  deletionCost,
  ({ spec }, { podsOnNode }) => (spec.nodeName ? -podsOnNode(spec.nodeName) : 0),
  (pod, { now }) => (isReady(pod) ? ageRank(readySince(pod), now) : 0),
  (pod) => -restarts(pod),
  (pod, { now }) => ageRank(timeOf(pod.metadata.creationTimestamp), now),
];

/** The pods in the order in which they are to be deleted. */
export function rankForDeletion(pods: readonly Pod[], options: RankOptions): Pod[] {
  const ranked = pods.map((pod) => ({ pod, keys: CRITERIA.map((criterion) => criterion(pod, options)) }));
  ranked.sort((a, b) => {
    for (const [index, key] of a.keys.entries()) {
      const difference = key - (b.keys[index] ?? 0);
      if (difference !== 0) return difference;
    }
    return a.pod.metadata.uid < b.pod.metadata.uid ? -1 : 1;
  });
  return ranked.map(({ pod }) => pod);
}

/** Written by the user; anything but a plain 32-bit integer counts as zero. */
export function deletionCost(pod: Pod): number {
  const text = pod.metadata.annotations?.[DELETION_COST] ?? '0';
  if (!/^(0|-?[1-9][0-9]*)$/.test(text)) return 0;
  const cost = Number(text);
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0;
}

/** Ages are compared by order of magnitude, so that pods of one generation are not always felled youngest first. */
function ageRank(since: number | undefined, now: number): number {
  if (since === undefined || now <= since) return -1;
  return Math.floor(Math.log2((now - since) * 1e6));
}

function restarts({ status }: Pod): number {
  return Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}
