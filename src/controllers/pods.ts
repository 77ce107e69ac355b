// What controllers ask of a pod: is it active, ready, available, since when. Pure.
// Guarantees: a terminating or finished pod is never counted; times are compared in milliseconds since the epoch.
import type { V1Pod, V1PodCondition } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';

export type Pod = Stored<V1Pod>;

export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** Succeeded or Failed: its containers will never run again. */
export function isFinished({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

export function isActive(pod: Pod): boolean {
  return !isTerminating(pod) && !isFinished(pod);
}

export function podCondition(pod: Pod, type: string): V1PodCondition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

export function isReady(pod: Pod): boolean {
  return podCondition(pod, 'Ready')?.status === 'True';
}

/** When the pod became ready; undefined while it is not. */
export function readySince(pod: Pod): number | undefined {
  const ready = podCondition(pod, 'Ready');
  return ready?.status === 'True' ? timeOf(ready.lastTransitionTime) : undefined;
}

/** When a ready pod will have been ready for long enough; undefined while it is not ready. */
export function availableAt(pod: Pod, minReadySeconds: number): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  const since = readySince(pod);
  return since === undefined ? undefined : since + minReadySeconds * 1000;
}

export function timeOf(stamp: string | undefined): number | undefined {
  if (stamp === undefined) return undefined;
  const time = Date.parse(stamp);
  return Number.isNaN(time) ? undefined : time;
}

/** The form of metav1.Time: whole seconds. */
export function stampOf(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}
