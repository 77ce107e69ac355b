// The conditions that a kubelet keeps on a pod. Pure.
// Guarantees: a condition's transition time moves only when its status does; conditions of others are left as they are.
import type { V1ContainerStatus, V1PodCondition, V1PodSpec } from '../../api/gen/types.js';
import { isRestartable } from '../names.js';
import type { PendingResize } from '../resize/allocations.js';
import type { Phase } from './phase.js';
import { apiTime } from './time.js';

/** There only while a resize waits or is under way. */
const PASSING = ['PodResizePending', 'PodResizeInProgress'];
export const isPassing = (type: string): boolean => PASSING.includes(type);

const OWNED: readonly string[] = [
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  ...PASSING,
];

/** Set when the kubelet ends a pod to protect the node. Others set the same type, with other reasons. */
const DISRUPTED = { type: 'DisruptionTarget', reason: 'TerminationByKubelet' };

/** Whether the kubelet may write it. Conditions of others are theirs to change, and a copy of them here may be stale. */
export function isOwnCondition({ type, reason }: Pick<V1PodCondition, 'type' | 'reason'>): boolean {
  return OWNED.includes(type) || (type === DISRUPTED.type && reason === DISRUPTED.reason);
}

/** What others say of a pod is what the API says; what this kubelet says is what it said last. */
export function knownConditions(
  own: readonly V1PodCondition[] = [],
  told: readonly V1PodCondition[] = [],
): readonly V1PodCondition[] {
  const others = told.filter(({ type }) => !OWNED.includes(type));
  return [...own.filter(({ type }) => !others.some((one) => one.type === type)), ...others];
}

interface ConditionFacts {
  readonly spec: V1PodSpec;
  readonly phase: Phase;
  readonly initStatuses: readonly V1ContainerStatus[];
  readonly statuses: readonly V1ContainerStatus[];
  /** The sandbox is up and has its addresses. */
  readonly sandboxReady: boolean;
  readonly previous: readonly V1PodCondition[];
  /** Whether all its containers are ending to begin anew; undefined for a pod that has no rule for it. */
  readonly restartingAll?: boolean | undefined;
  /** Why the kubelet ends the pod for the node's sake. */
  readonly disruption?: string | undefined;
  readonly pendingResize?: PendingResize | undefined;
  readonly resizing?: { readonly error?: string } | undefined;
  readonly generation: number | undefined;
  readonly now: number;
}

type Verdict = Pick<V1PodCondition, 'type' | 'status' | 'reason' | 'message'>;

export function podConditions(facts: ConditionFacts): V1PodCondition[] {
  const containers = containersReady(facts);
  const verdicts: Verdict[] = [
    { type: 'PodReadyToStartContainers', status: facts.sandboxReady ? 'True' : 'False' },
    initialized(facts),
    podReady(facts, containers),
    containers,
    { type: 'PodScheduled', status: 'True' },
    ...restartingAll(facts),
    ...resizes(facts),
    ...disruption(facts),
  ];
  const own = verdicts.map((verdict) => withTimes(verdict, facts));
  const isOwn = (type: string) => OWNED.includes(type) || own.some((one) => one.type === type);
  return [...own, ...facts.previous.filter(({ type }) => !isOwn(type))];
}

function restartingAll({ restartingAll: isTrue, phase }: ConditionFacts): Verdict[] {
  if (isTrue === undefined) return [];
  const reason = phase === 'Succeeded' ? 'PodCompleted' : phase === 'Failed' ? 'PodFailed' : undefined;
  return [{ type: 'AllContainersRestarting', status: isTrue ? 'True' : 'False', reason }];
}

function resizes({ pendingResize, resizing }: ConditionFacts): Verdict[] {
  const error = resizing?.error;
  return [
    ...(pendingResize === undefined ? [] : [{ type: 'PodResizePending', status: 'True', ...pendingResize }]),
    ...(resizing === undefined
      ? []
      : [
          {
            type: 'PodResizeInProgress',
            status: 'True',
            ...(error === undefined ? {} : { reason: 'Error', message: error }),
          },
        ]),
  ];
}

/** Others may say it as well, and what they said stays. */
function disruption({ disruption: message }: ConditionFacts): Verdict[] {
  if (message === undefined) return [];
  return [{ ...DISRUPTED, status: 'True', message }];
}

function withTimes(verdict: Verdict, { previous, generation, now }: ConditionFacts): V1PodCondition {
  const before = previous.find(({ type }) => type === verdict.type);
  const since = before?.status === verdict.status ? before.lastTransitionTime : undefined;
  const { type, status, reason, message } = verdict;
  return {
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    lastTransitionTime: since ?? apiTime(now),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

function initialized({ spec, phase, initStatuses, statuses }: ConditionFacts): Verdict {
  const type = 'Initialized';
  const inits = spec.initContainers ?? [];
  if (phase === 'Succeeded') return { type, status: 'True', reason: 'PodCompleted' };
  // Once a main container has begun, initialisation is over, whatever became of the init containers' records.
  const begun = statuses.some(
    ({ state, lastState }) => state?.running ?? state?.terminated ?? lastState?.terminated,
  );
  const incomplete = begun
    ? []
    : inits.filter((container) => {
        const status = initStatuses.find(({ name }) => name === container.name);
        return isRestartable(container) ? status?.started !== true : status?.ready !== true;
      });
  if (incomplete.length === 0) return { type, status: 'True' };
  const names = incomplete.map(({ name }) => name).join(' ');
  return {
    type,
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${names}]`,
  };
}

function containersReady({ spec, phase, initStatuses, statuses }: ConditionFacts): Verdict {
  const type = 'ContainersReady';
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  const sidecars = (spec.initContainers ?? []).filter(isRestartable);
  const unready = [...sidecars, ...spec.containers].filter(
    ({ name }) => ![...initStatuses, ...statuses].some((status) => status.name === name && status.ready),
  );
  if (unready.length === 0) return { type, status: 'True' };
  const names = unready.map(({ name }) => name).join(' ');
  const message = `containers with unready status: [${names}]`;
  return { type, status: 'False', reason: 'ContainersNotReady', message };
}

function podReady({ spec, previous }: ConditionFacts, containers: Verdict): Verdict {
  const type = 'Ready';
  if (containers.status !== 'True') return { ...containers, type };
  const missing = (spec.readinessGates ?? []).filter(
    (gate) => !previous.some((one) => one.type === gate.conditionType && one.status === 'True'),
  );
  if (missing.length === 0) return { type, status: 'True' };
  const messages = missing.map(({ conditionType }) =>
    previous.some((one) => one.type === conditionType)
      ? `the status of pod readiness gate "${conditionType}" is not "True", but False`
      : `corresponding condition of pod readiness gate "${conditionType}" does not exist.`,
  );
  return { type, status: 'False', reason: 'ReadinessGatesNotReady', message: messages.join(', ') };
}
