// What a Deployment needs done now: a new ReplicaSet, other sizes, clean-up, its own status. Pure.
// Guarantees: one safe step at a time; planning again after the step was seen leads on, after a crash too.
import type { V1DeploymentStatus, V1ReplicaSet } from '../../api/gen/types.js';
import { sameStatusMeaning } from '../sameStatus.js';
import { fencepostsOf, isRolling } from './fenceposts.js';
import {
  byAge,
  DESIRED_REPLICAS,
  type Deployment,
  larger,
  makeReplicaSet,
  newSetAnnotations,
  nextRevision,
  REVISION,
  type ReplicaSet,
  replicasOf,
  revisionOf,
  sizeAnnotations,
  splitReplicaSets,
} from './replicaSets.js';
import { newSetSize, type Resize, recreateStep, rollingStep, type Sized, scaleStep } from './sizes.js';
import { deploymentStatus, hasDeadline, isComplete, type Progress } from './status.js';

interface DeploymentObserved {
  readonly deployment: Deployment;
  /** The ReplicaSets it holds. */
  readonly sets: readonly ReplicaSet[];
  /** How many pods of a ReplicaSet still live, terminating ones included. */
  livePods(set: ReplicaSet): number;
  readonly now: number;
}

export type DeploymentAction =
  | { readonly do: 'createReplicaSet'; readonly replicaSet: V1ReplicaSet }
  | { readonly do: 'updateReplicaSet'; readonly set: ReplicaSet; readonly wanted: ReplicaSet }
  | { readonly do: 'deleteReplicaSet'; readonly set: ReplicaSet }
  | { readonly do: 'setRevision'; readonly revision: string }
  | { readonly do: 'updateStatus'; readonly status: V1DeploymentStatus };

export function planDeployment(observed: DeploymentObserved): DeploymentAction[] {
  const { deployment, sets, now } = observed;
  const split = { deployment, ...splitReplicaSets(deployment, sets) };
  const { steps, news } =
    deployment.metadata.deletionTimestamp === undefined ? stepsOf(observed, split) : NOTHING;
  const status = deploymentStatus({ ...split, now, news });
  const actions = [...steps];
  if (!sameStatusMeaning(deployment.status, status)) actions.push({ do: 'updateStatus', status });
  return actions;
}

interface Steps {
  readonly steps: readonly DeploymentAction[];
  readonly news?: Progress | undefined;
}

const NOTHING: Steps = { steps: [] };

function stepsOf(observed: DeploymentObserved, split: Sized): Steps {
  const { deployment, current, old } = split;
  const paused = deployment.spec.paused === true;
  const news = pauseNews(deployment);
  if (paused || isScaled(split)) {
    const resizes = scaleStep(split, isRolling(deployment));
    return { steps: [...updates(split, resizes, !paused), ...(paused ? cleanUp(split) : [])], news };
  }
  if (current === undefined) return create(observed, split);
  const step = isRolling(deployment)
    ? rollingStep(split)
    : (recreateStep(
        split,
        old.reduce((pods, set) => pods + observed.livePods(set), 0),
      ) ?? []);
  const steps = updates(split, step, true);
  const counts = deploymentStatus({ ...split, now: observed.now });
  if (steps.length === 0 && isComplete(deployment, counts)) steps.push(...cleanUp(split));
  steps.push(...revisionStep(split));
  return { steps, news: news ?? foundNews(deployment, current) };
}

function create(observed: DeploymentObserved, split: Sized): Steps {
  const { deployment, old } = split;
  const shrinking = isRolling(deployment)
    ? []
    : recreateStep(
        split,
        old.reduce((pods, set) => pods + observed.livePods(set), 0),
      );
  if (shrinking === undefined) return NOTHING;
  if (shrinking.length > 0) return { steps: updates(split, shrinking, false) };
  const revision = nextRevision(old);
  const replicaSet = makeReplicaSet({ deployment, replicas: newSetSize(split), revision });
  const name = replicaSet.metadata?.name ?? '';
  return {
    steps: [{ do: 'createReplicaSet', replicaSet }, ...revisionAnnotation(deployment, String(revision))],
    news: { status: 'True', reason: 'NewReplicaSetCreated', message: `Created new replica set "${name}"` },
  };
}

/** True when the wished number differs from the one the sets were last sized for. */
function isScaled({ deployment, current, old }: Sized): boolean {
  const { desired } = fencepostsOf(deployment);
  return [...old, ...(current === undefined ? [] : [current])].some((set) => {
    const sizedFor = set.metadata.annotations?.[DESIRED_REPLICAS];
    return replicasOf(set) > 0 && sizedFor !== undefined && sizedFor !== String(desired);
  });
}

/** One update for each set whose size or annotations must change. */
function updates(
  { deployment, current, old }: Sized,
  resizes: readonly Resize[],
  renew: boolean,
): DeploymentAction[] {
  const sizes = new Map(resizes.map(({ set, replicas }) => [set, replicas]));
  const all = current === undefined ? old : [...old, current];
  const revision = nextRevision(old);
  return all.flatMap((set): DeploymentAction[] => {
    const replicas = sizes.get(set) ?? replicasOf(set);
    const isNew = set === current && renew;
    const annotations = {
      ...(isNew ? newSetAnnotations(deployment, set, revision) : set.metadata.annotations),
      ...(sizes.has(set) ? sizeAnnotations(deployment) : {}),
    };
    const minReadySeconds = isNew ? deployment.spec.minReadySeconds : set.spec.minReadySeconds;
    const wanted: ReplicaSet = {
      ...set,
      metadata: { ...set.metadata, annotations },
      spec: { ...set.spec, replicas, ...(minReadySeconds === undefined ? {} : { minReadySeconds }) },
    };
    return sameWish(set, wanted) ? [] : [{ do: 'updateReplicaSet', set, wanted }];
  });
}

function sameWish(a: ReplicaSet, b: ReplicaSet): boolean {
  const before = a.metadata.annotations ?? {};
  const after = Object.entries(b.metadata.annotations ?? {});
  return (
    replicasOf(a) === replicasOf(b) &&
    (a.spec.minReadySeconds ?? 0) === (b.spec.minReadySeconds ?? 0) &&
    after.length === Object.keys(before).length &&
    after.every(([key, value]) => before[key] === value)
  );
}

/** Old sets without pods beyond the history that is kept, the lowest revisions first. */
function cleanUp({ deployment, old }: Sized): DeploymentAction[] {
  const limit = deployment.spec.revisionHistoryLimit ?? 10;
  const alive = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const surplus = alive.length - limit;
  if (surplus <= 0) return [];
  return [...alive]
    .sort((a, b) => Number(revisionOf(a) - revisionOf(b)) || byAge(a, b))
    .slice(0, surplus)
    .filter(
      (set) =>
        replicasOf(set) === 0 &&
        (set.status?.replicas ?? 0) === 0 &&
        (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0),
    )
    .map((set) => ({ do: 'deleteReplicaSet', set }));
}

function revisionStep({ deployment, current, old }: Sized): DeploymentAction[] {
  if (current === undefined) return [];
  return revisionAnnotation(deployment, String(larger(revisionOf(current), nextRevision(old))));
}

function revisionAnnotation({ metadata }: Deployment, revision: string): DeploymentAction[] {
  return metadata.annotations?.[REVISION] === revision ? [] : [{ do: 'setRevision', revision }];
}

function pauseNews(deployment: Deployment): Progress | undefined {
  const progressing = deployment.status?.conditions?.find(({ type }) => type === 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded') return undefined;
  const wasPaused = progressing?.reason === 'DeploymentPaused';
  const paused = deployment.spec.paused === true;
  if (paused === wasPaused) return undefined;
  return paused
    ? { status: 'Unknown', reason: 'DeploymentPaused', message: 'Deployment is paused' }
    : { status: 'Unknown', reason: 'DeploymentResumed', message: 'Deployment is resumed' };
}

/** A set that was there already, as after a rollback, also counts as progress when none has been told yet. */
function foundNews(deployment: Deployment, current: ReplicaSet): Progress | undefined {
  if (!hasDeadline(deployment)) return undefined;
  if (deployment.status?.conditions?.some(({ type }) => type === 'Progressing') === true) return undefined;
  const message = `Found new replica set "${current.metadata.name}"`;
  return { status: 'True', reason: 'FoundNewReplicaSet', message };
}
