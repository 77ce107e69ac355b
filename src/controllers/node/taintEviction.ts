// Taint eviction: pods leave a node whose NoExecute taints they do not tolerate, or tolerate no longer.
// Guarantees: the time a pod may stay counts from the taint's own time or from when the pod came to the node, whichever is
// later, so a restart here grants no second stay; of a taint that tells none, as people put them, from when this controller
// first saw the pod under it.
import type { V1Taint, V1Toleration } from '../../api/gen/types.js';
import { keyOf, nameOfKey } from '../../api/object.js';
import { NODES, PODS } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { isTerminating, type Pod, podCondition, stampOf, timeOf } from '../pods.js';
import type { Node } from './health.js';
import { podsByNode } from './lifecycle.js';

const NAME = 'taint-eviction-controller';

export const taintEvictionController: Controller = {
  name: NAME,
  run(context) {
    const { informers, client, now } = context;
    const nodes = informers.of(NODES);
    const pods = informers.of(PODS);
    const podsOn = podsByNode(pods);
    const queue = newQueue(context);
    const wakePods = ({ metadata }: Node) => {
      for (const pod of podsOn(metadata.name)) queue.add(keyOf(pod.metadata));
    };
    const noExecute = ({ spec }: Node) => (spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
    nodes.on({
      added: (node) => {
        if (noExecute(node).length > 0) wakePods(node);
      },
      updated: (node, previous) => {
        if (JSON.stringify(noExecute(node)) !== JSON.stringify(noExecute(previous))) wakePods(node);
      },
    });
    const wake = (pod: Pod) => {
      if (pod.spec.nodeName) queue.add(keyOf(pod.metadata));
    };
    const placed = ({ spec }: Pod) => JSON.stringify([spec.nodeName, spec.tolerations]);
    pods.on({
      added: wake,
      updated: (pod, previous) => {
        if (placed(pod) !== placed(previous)) wake(pod);
      },
      deleted: ({ metadata }) => void firstSeen.delete(metadata.uid),
    });
    /** Since when a pod's stay is counted, by its uid. */
    const firstSeen = new Map<string, number>();
    const reconcile = async (key: string): Promise<number | undefined> => {
      const pod = pods.get(key);
      const node = pod?.spec.nodeName ? nodes.get(pod.spec.nodeName) : undefined;
      if (pod === undefined || node === undefined || isTerminating(pod)) return undefined;
      const { uid } = pod.metadata;
      const seenAt = firstSeen.get(uid) ?? now();
      const at = evictionTime(pod.spec.tolerations ?? [], noExecute(node), {
        seenAt,
        arrivedAt: arrivalOf(pod),
      });
      if (at === undefined) {
        firstSeen.delete(uid);
        return undefined;
      }
      firstSeen.set(uid, seenAt);
      if (at > now()) return at - now();
      const message = `Marking for deletion Pod ${key}`;
      context.record(PODS, pod, { type: 'Normal', reason: 'TaintManagerEviction', message });
      const status = { ...pod.status, conditions: withDisruption(pod, now()) };
      await ignoring(
        ['NotFound', 'Conflict'],
        client.of(PODS).update({ ...pod, status }, { subresource: 'status' }),
      );
      await ignoring(['Conflict'], client.of(PODS).delete(nameOfKey(key), { preconditions: { uid } }));
      return undefined;
    };
    return runLoop(context, NAME, { queue, workers: 8, reconcile });
  },
};

/** When it was bound, or made for its node. */
function arrivalOf(pod: Pod): number {
  const scheduled = podCondition(pod, 'PodScheduled')?.lastTransitionTime;
  return timeOf(scheduled ?? pod.metadata.creationTimestamp) ?? 0;
}

interface Stay {
  /** Stands for the time of taints that tell none. */
  readonly seenAt: number;
  /** When the pod came to the node. */
  readonly arrivedAt: number;
}

/** When the pod must leave; undefined when it may stay for ever. */
export function evictionTime(
  tolerations: readonly V1Toleration[],
  taints: readonly V1Taint[],
  { seenAt, arrivedAt }: Stay,
): number | undefined {
  const times = taints.map((taint) => {
    const fitting = tolerations.filter((toleration) => tolerates(toleration, taint));
    if (fitting.length === 0) return seenAt;
    const limits = fitting
      .map(({ tolerationSeconds }) => tolerationSeconds)
      .filter((limit) => limit !== undefined);
    if (limits.length === 0) return Infinity;
    return Math.max(timeOf(taint.timeAdded) ?? seenAt, arrivedAt) + Math.max(0, Math.min(...limits)) * 1000;
  });
  const first = Math.min(Infinity, ...times);
  return first === Infinity ? undefined : first;
}

export function tolerates({ key, operator, value, effect }: V1Toleration, taint: V1Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return Boolean(key) && (value ?? '') === (taint.value ?? '');
}

function withDisruption(pod: Pod, now: number) {
  const { generation } = pod.metadata;
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  return [
    ...others,
    {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
      lastTransitionTime: stampOf(now),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    },
  ];
}
