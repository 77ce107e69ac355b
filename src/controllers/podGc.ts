// Pod garbage collection: pods that no kubelet will ever finish, and finished pods beyond a number.
// Guarantees: a node must be missing for 40 s, and be denied by the server, before its pods go; one pod that the server
// refuses to remove keeps no other.
import type { V1PodStatus } from '../api/gen/types.js';
import { NODES, PODS } from '../api/resources.js';
import { ignoring } from './claim.js';
import { type Controller, type ControllerContext, runEvery, sweep } from './controller.js';
import { type Node, readiness } from './node/health.js';
import { OUT_OF_SERVICE } from './node/taints.js';
import { isFinished, isTerminating, type Pod, stampOf } from './pods.js';

const NAME = 'pod-garbage-collector-controller';
const PERIOD_MS = 20_000;
const QUARANTINE_MS = 40_000;
const TERMINATED_PODS = 12_500;

interface PodGcObserved {
  readonly pods: readonly Pod[];
  nodeOf(name: string): Node | undefined;
  /** Nodes known to be gone. */
  readonly gone: ReadonlySet<string>;
  readonly finishedLimit: number;
}

interface PodRemoval {
  readonly pod: Pod;
  /** What its status shall say first, for a pod that had not finished. */
  readonly because?: string | undefined;
}

export function planPodGc({ pods, nodeOf, gone, finishedLimit }: PodGcObserved): PodRemoval[] {
  const removals = pods.flatMap((pod): PodRemoval[] => {
    const { nodeName } = pod.spec;
    if (!nodeName)
      return isTerminating(pod) ? [{ pod, because: 'PodGC: unscheduled pod is being terminated' }] : [];
    if (gone.has(nodeName)) return [{ pod, because: 'PodGC: node no longer exists' }];
    const node = nodeOf(nodeName);
    const isOut = node?.spec.taints?.some(({ key }) => key === OUT_OF_SERVICE) === true;
    return node !== undefined && isTerminating(pod) && isOut && readiness(node) !== 'True'
      ? [{ pod, because: 'PodGC: node is out of service' }]
      : [];
  });
  const doomed = new Set(removals.map(({ pod }) => pod));
  const finished = pods.filter((pod) => isFinished(pod) && !isTerminating(pod) && !doomed.has(pod));
  const surplus = finishedLimit > 0 ? Math.max(0, finished.length - finishedLimit) : 0;
  const created = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp);
  const oldest = finished.sort((a, b) => created(a) - created(b)).slice(0, surplus);
  return [...removals, ...oldest.map((pod) => ({ pod }))];
}

/** `finishedLimit`: so many finished pods are kept, the youngest; 0 keeps them all. */
export const podGcController = (finishedLimit = TERMINATED_PODS): Controller => ({
  name: NAME,
  run(context) {
    const { informers, now } = context;
    const pods = informers.of(PODS);
    const nodes = informers.of(NODES);
    const missingSince = new Map<string, number>();
    const tick = async () => {
      const named = new Set(pods.list().flatMap(({ spec }) => (spec.nodeName ? [spec.nodeName] : [])));
      for (const name of missingSince.keys())
        if (!named.has(name) || nodes.get(name)) missingSince.delete(name);
      const gone = new Set<string>();
      for (const name of named) {
        if (nodes.get(name) !== undefined) continue;
        const since = missingSince.get(name) ?? now();
        missingSince.set(name, since);
        if (now() - since >= QUARANTINE_MS && (await isGone(context, name))) gone.add(name);
      }
      const nodeOf = (name: string) => nodes.get(name);
      const removals = planPodGc({ pods: pods.list(), nodeOf, gone, finishedLimit });
      const becauseOf = new Map(removals.map(({ pod, because }) => [pod, because]));
      await sweep(context, { name: NAME, items: [...becauseOf.keys()] }, (pod) =>
        remove(context, { pod, because: becauseOf.get(pod) }),
      );
    };
    return runEvery(context, { name: NAME, periodMs: PERIOD_MS, tick });
  },
});

async function isGone({ client }: ControllerContext, name: string): Promise<boolean> {
  return (await ignoring(['NotFound'], client.of(NODES).get({ name }))) === undefined;
}

async function remove({ client, now }: ControllerContext, { pod, because }: PodRemoval): Promise<void> {
  const { uid, resourceVersion } = pod.metadata;
  if (because !== undefined && !isFinished(pod)) {
    const status = failedStatus(pod, because, now());
    const patch = { metadata: { uid, resourceVersion }, status };
    await ignoring(
      ['NotFound', 'Conflict'],
      client.of(PODS).patch(pod.metadata, 'merge', patch, { subresource: 'status' }),
    );
  }
  // No kubelet is there to confirm: the object goes at once.
  const options = { gracePeriodSeconds: 0, preconditions: { uid } };
  await ignoring(['Conflict'], client.of(PODS).delete(pod.metadata, options));
}

function failedStatus({ status, metadata: { generation } }: Pod, message: string, now: number): V1PodStatus {
  const others = (status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  const seen = generation === undefined ? {} : { observedGeneration: generation };
  const condition = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC', message, ...seen };
  return {
    ...status,
    phase: 'Failed',
    conditions: [...others, { ...condition, lastTransitionTime: stampOf(now) }],
  };
}
