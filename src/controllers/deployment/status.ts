// What a Deployment says of itself: counts, and the conditions Available, Progressing and ReplicaFailure. Pure.
// Guarantees: `kubectl rollout status` ends when the update is whole, and fails when the deadline passed.
import type { V1DeploymentCondition, V1DeploymentStatus } from '../../api/gen/types.js';
import { stampOf, timeOf } from '../pods.js';
import { fencepostsOf } from './fenceposts.js';
import { type Deployment, type ReplicaSet, replicasOf } from './replicaSets.js';

interface DeploymentSeen {
  readonly deployment: Deployment;
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
  readonly now: number;
  /** What was just done, when that decides the Progressing condition. */
  readonly news?: Progress | undefined;
}

export interface Progress {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

type Counts = Omit<V1DeploymentStatus, 'conditions' | 'collisionCount'>;

export function deploymentStatus(seen: DeploymentSeen): V1DeploymentStatus {
  const { deployment, now } = seen;
  const counts = countsOf(seen);
  const { desired, maxUnavailable } = fencepostsOf(deployment);
  const available = (counts.availableReplicas ?? 0) >= desired - maxUnavailable;
  let conditions = deployment.status?.conditions ?? [];
  conditions = withCondition(conditions, now, {
    type: 'Available',
    status: available ? 'True' : 'False',
    reason: available ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    message: available
      ? 'Deployment has minimum availability.'
      : 'Deployment does not have minimum availability.',
  });
  conditions = withProgress(conditions, counts, seen);
  const failure = failureOf(seen);
  conditions =
    failure === undefined
      ? conditions.filter(({ type }) => type !== 'ReplicaFailure')
      : withCondition(conditions, now, { ...failure, type: 'ReplicaFailure' });
  const { collisionCount } = deployment.status ?? {};
  return { ...counts, conditions, ...(collisionCount === undefined ? {} : { collisionCount }) };
}

function countsOf({ deployment, current, old }: DeploymentSeen): Counts {
  const all = current === undefined ? old : [...old, current];
  const total = (of: (set: ReplicaSet) => number | undefined) =>
    all.reduce((count, set) => count + (of(set) ?? 0), 0);
  const available = total(({ status }) => status?.availableReplicas);
  const { generation } = deployment.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: total(({ status }) => status?.replicas),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: total(({ status }) => status?.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, total(replicasOf) - available),
    terminatingReplicas: total(({ status }) => status?.terminatingReplicas),
  };
}

/** Every pod is of the new template and available, and none is left over. */
export function isComplete({ spec }: Deployment, counts: Counts): boolean {
  const desired = spec.replicas ?? 1;
  return [counts.replicas, counts.updatedReplicas, counts.availableReplicas].every(
    (count) => (count ?? 0) === desired,
  );
}

function withProgress(
  conditions: readonly V1DeploymentCondition[],
  counts: Counts,
  { deployment, current, now, news }: DeploymentSeen,
): readonly V1DeploymentCondition[] {
  if (!hasDeadline(deployment)) return conditions.filter(({ type }) => type !== 'Progressing');
  const present = conditions.find(({ type }) => type === 'Progressing');
  const set = (progress: Progress) => withCondition(conditions, now, { type: 'Progressing', ...progress });
  if (news !== undefined) return set(news);
  if (deployment.spec.paused === true) return conditions;
  const subject =
    current === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${current.metadata.name}"`;
  const settled = present?.reason === 'NewReplicaSetAvailable' && counts.replicas === counts.updatedReplicas;
  if (settled) return conditions;
  if (isComplete(deployment, counts))
    return set({
      status: 'True',
      reason: 'NewReplicaSetAvailable',
      message: `${subject} has successfully progressed.`,
    });
  if (hasProgressed(deployment.status, counts)) {
    const message = `${subject} is progressing.`;
    const moved: V1DeploymentCondition = {
      type: 'Progressing',
      status: 'True',
      reason: 'ReplicaSetUpdated',
      message,
      lastUpdateTime: stampOf(now),
      lastTransitionTime:
        present?.status === 'True' && present.lastTransitionTime !== undefined
          ? present.lastTransitionTime
          : stampOf(now),
    };
    // Written anew although reason and status may be the same: the update time is the deadline's start.
    return [...conditions.filter(({ type }) => type !== 'Progressing'), moved];
  }
  if (deadlineInMs(deployment, present, now) === 0)
    return set({
      status: 'False',
      reason: 'ProgressDeadlineExceeded',
      message: `${subject} has timed out progressing.`,
    });
  return conditions;
}

function hasProgressed(before: V1DeploymentStatus | undefined, counts: Counts): boolean {
  const oldPods = (status: Counts | undefined) => (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0);
  return (
    (counts.updatedReplicas ?? 0) > (before?.updatedReplicas ?? 0) ||
    oldPods(counts) < oldPods(before) ||
    (counts.readyReplicas ?? 0) > (before?.readyReplicas ?? 0) ||
    (counts.availableReplicas ?? 0) > (before?.availableReplicas ?? 0)
  );
}

export function hasDeadline({ spec }: Deployment): boolean {
  return spec.progressDeadlineSeconds !== undefined && spec.progressDeadlineSeconds !== 2 ** 31 - 1;
}

/** Milliseconds until the update counts as stuck, 0 when it does; undefined when nothing is under way. */
export function deadlineInMs(
  deployment: Deployment,
  progressing: V1DeploymentCondition | undefined,
  now: number,
): number | undefined {
  if (!hasDeadline(deployment) || deployment.spec.paused === true) return undefined;
  if (progressing === undefined || progressing.reason === 'NewReplicaSetAvailable') return undefined;
  if (progressing.reason === 'ProgressDeadlineExceeded') return 0;
  const since = timeOf(progressing.lastUpdateTime) ?? now;
  return Math.max(0, since + (deployment.spec.progressDeadlineSeconds ?? 600) * 1000 - now);
}

function failureOf({ current, old }: DeploymentSeen): Progress | undefined {
  const own = current?.status?.conditions?.find(({ type }) => type === 'ReplicaFailure');
  const found =
    own ??
    old.flatMap(({ status }) => status?.conditions ?? []).find(({ type }) => type === 'ReplicaFailure');
  if (found === undefined) return undefined;
  const status = found.status === 'True' ? 'True' : 'False';
  return { status, reason: found.reason ?? '', message: found.message ?? '' };
}

/** What is said when not even the ReplicaSet could be made: nothing else would tell of it. */
export function failedCreateStatus(deployment: Deployment, message: string, now: number): V1DeploymentStatus {
  const status = deployment.status ?? {};
  if (!hasDeadline(deployment)) return status;
  const wanted = { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message } as const;
  return { ...status, conditions: withCondition(status.conditions ?? [], now, wanted) };
}

/** Replaces the condition unless status and reason are the same; transition times change only with the status. */
function withCondition(
  conditions: readonly V1DeploymentCondition[],
  now: number,
  wanted: Progress & { readonly type: string },
): readonly V1DeploymentCondition[] {
  const present = conditions.find(({ type }) => type === wanted.type);
  if (present?.status === wanted.status && present.reason === wanted.reason) return conditions;
  const stamp = stampOf(now);
  const lastTransitionTime =
    present?.status === wanted.status ? (present.lastTransitionTime ?? stamp) : stamp;
  const condition = { ...wanted, lastUpdateTime: stamp, lastTransitionTime };
  return [...conditions.filter(({ type }) => type !== wanted.type), condition];
}
