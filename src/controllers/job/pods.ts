// A Job's pods: what is asked of them, and the drafts of new ones. Pure.
// Guarantees: every pod carries the tracking finalizer, so that none can vanish before it has been counted.
import type { V1Container, V1EnvVar, V1Job, V1Pod } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { JOBS } from '../../api/resources.js';
import { podFromTemplate } from '../ownedPods.js';
import { isTerminating, type Pod, timeOf } from '../pods.js';

export type Job = Stored<V1Job>;

export const TRACKING = 'batch.kubernetes.io/job-tracking';
const INDEX = 'batch.kubernetes.io/job-completion-index';
const FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count';
const IGNORED_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count';
const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';

export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === 'Indexed';
export const isTracked = ({ metadata }: Pod): boolean => (metadata.finalizers ?? []).includes(TRACKING);
export const isSuspended = ({ spec }: Job): boolean => spec.suspend === true;

/** The completion index; undefined when there is none that this Job could have given. */
export function indexOf({ metadata }: Pod, completions: number): number | undefined {
  const text = metadata.annotations?.[INDEX] ?? '';
  const index = /^(0|[1-9][0-9]{0,8})$/.test(text) ? Number(text) : completions;
  return index < completions ? index : undefined;
}

/** Counts as failed: by its phase, or because it is being deleted and will not be waited for. */
export function isFailed({ spec }: Job, pod: Pod): boolean {
  const phase = pod.status?.phase;
  if (phase === 'Failed') return true;
  if (!isTerminating(pod) || phase === 'Succeeded') return false;
  // With this policy only the end of the pod counts, and one that never started cannot have another.
  if (spec.podReplacementPolicy === 'Failed') return phase === 'Pending' && !pod.spec.nodeName;
  return true;
}

interface IndexFailures {
  readonly counted: number;
  readonly ignored: number;
}

export function failuresBefore({ metadata }: Pod): IndexFailures {
  const read = (key: string) => {
    const text = metadata.annotations?.[key] ?? '';
    return /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  };
  return { counted: read(FAILURE_COUNT), ignored: read(IGNORED_COUNT) };
}

/** When its last container ended, as far as that is known. */
export function endOf(pod: Pod, now: number): number {
  const ends = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => {
    const time = timeOf(state?.terminated?.finishedAt);
    return time === undefined ? [] : [time];
  });
  if (ends.length > 0) return Math.min(now, Math.max(...ends));
  return timeOf(pod.metadata.deletionTimestamp) ?? now;
}

interface JobPodWish {
  readonly index?: number;
  /** Of the index's earlier pods, when they are counted one index at a time. */
  readonly failures?: IndexFailures;
}

export function jobPod(job: Job, { index, failures }: JobPodWish = {}): V1Pod {
  const draft = podFromTemplate(JOBS, job, job.spec.template);
  const finalizers = [...(draft.metadata.finalizers ?? []), TRACKING];
  if (index === undefined) return { ...draft, metadata: { ...draft.metadata, finalizers } };
  const spec = draft.spec ?? { containers: [] };
  const name = `${job.metadata.name}-${index}`;
  const withIndex = (containers: readonly V1Container[]) =>
    containers.map((container) => ({ ...container, env: withVariable(container.env ?? []) }));
  return {
    ...draft,
    metadata: {
      ...draft.metadata,
      // The server adds five characters, and 63 is the limit of host names made from it.
      generateName: `${name.slice(0, 57)}-`,
      finalizers,
      labels: { ...draft.metadata.labels, [INDEX]: String(index) },
      annotations: {
        ...draft.metadata.annotations,
        [INDEX]: String(index),
        ...(failures === undefined ? {} : { [FAILURE_COUNT]: String(failures.counted) }),
        ...(failures === undefined || failures.ignored === 0
          ? {}
          : { [IGNORED_COUNT]: String(failures.ignored) }),
      },
    },
    spec: {
      ...spec,
      ...(name.length <= 63 ? { hostname: name } : {}),
      containers: withIndex(spec.containers),
      ...(spec.initContainers === undefined ? {} : { initContainers: withIndex(spec.initContainers) }),
    },
  };
}

/** From the annotation, so that the same template serves every index. */
function withVariable(env: readonly V1EnvVar[]): readonly V1EnvVar[] {
  if (env.some(({ name }) => name === INDEX_VARIABLE)) return env;
  const fieldPath = `metadata.labels['${INDEX}']`;
  return [...env, { name: INDEX_VARIABLE, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } }];
}
