// How fast an autoscaler may scale: bounds, stabilization window, policies. Pure.
// Guarantees: the result is within minReplicas and maxReplicas; a policy's pace counts what was scaled in its period.
import type {
  V2HorizontalPodAutoscalerSpec,
  V2HPAScalingPolicy,
  V2HPAScalingRules,
} from '../../api/gen/types.js';

export interface Recommendation {
  readonly replicas: number;
  readonly atMs: number;
}

/** A change that was made: how many pods came or went. */
export interface ScaleEvent {
  readonly change: number;
  readonly atMs: number;
}

interface LimitsObserved {
  readonly spec: V2HorizontalPodAutoscalerSpec;
  readonly current: number;
  readonly desired: number;
  /** Earlier wishes, without the one of now. */
  readonly recommendations: readonly Recommendation[];
  readonly events: readonly ScaleEvent[];
  readonly now: number;
}

export interface LimitedWish {
  readonly replicas: number;
  readonly stabilized: boolean;
  readonly reason: string;
  readonly message: string;
  readonly isLimited: boolean;
}

const DEFAULT_UP: Required<
  Pick<V2HPAScalingRules, 'policies' | 'selectPolicy' | 'stabilizationWindowSeconds'>
> = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const DEFAULT_DOWN: typeof DEFAULT_UP = {
  stabilizationWindowSeconds: 300,
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
};

function rulesOf({ behavior }: V2HorizontalPodAutoscalerSpec) {
  return {
    up: { ...DEFAULT_UP, ...given(behavior?.scaleUp) },
    down: { ...DEFAULT_DOWN, ...given(behavior?.scaleDown) },
  };
}

function given(rules: V2HPAScalingRules | undefined): Partial<typeof DEFAULT_UP> {
  return Object.fromEntries(Object.entries(rules ?? {}).filter(([, value]) => value !== undefined));
}

/** How long wishes are to be remembered. */
export function memoryMs(spec: V2HorizontalPodAutoscalerSpec): number {
  const { up, down } = rulesOf(spec);
  return 1000 * Math.max(up.stabilizationWindowSeconds ?? 0, down.stabilizationWindowSeconds ?? 0);
}

export function limitReplicas(observed: LimitsObserved): LimitedWish {
  const { spec, current } = observed;
  const stable = stabilize(observed);
  const min = spec.minReplicas ?? 1;
  const { maxReplicas } = spec;
  const stabilized = stable !== observed.desired;
  const outcome = (replicas: number, reason: string, message: string): LimitedWish => ({
    replicas,
    stabilized,
    reason,
    message,
    isLimited: reason !== 'DesiredWithinRange',
  });
  if (stable > current) {
    const limit = Math.max(current, scaleUpLimit(observed));
    const most = Math.min(limit, maxReplicas);
    if (stable > most)
      return limit < maxReplicas
        ? outcome(
            most,
            'ScaleUpLimit',
            'the desired replica count is increasing faster than the maximum scale rate',
          )
        : outcome(
            most,
            'TooManyReplicas',
            'the desired replica count is more than the maximum replica count',
          );
  } else if (stable < current) {
    const limit = Math.min(current, scaleDownLimit(observed));
    const fewest = Math.max(limit, min);
    if (stable < fewest)
      return limit > min
        ? outcome(
            fewest,
            'ScaleDownLimit',
            'the desired replica count is decreasing faster than the maximum scale rate',
          )
        : outcome(
            fewest,
            'TooFewReplicas',
            'the desired replica count is less than the minimum replica count',
          );
  }
  if (stable > maxReplicas)
    return outcome(
      maxReplicas,
      'TooManyReplicas',
      'the desired replica count is more than the maximum replica count',
    );
  if (stable < min)
    return outcome(min, 'TooFewReplicas', 'the desired replica count is less than the minimum replica count');
  return outcome(stable, 'DesiredWithinRange', 'the desired count is within the acceptable range');
}

/** Up only as far as all wishes of its window agree, down likewise. */
function stabilize({ spec, current, desired, recommendations, now }: LimitsObserved): number {
  const { up, down } = rulesOf(spec);
  let lowest = desired;
  let highest = desired;
  for (const { replicas, atMs } of recommendations) {
    if (atMs > now - 1000 * (up.stabilizationWindowSeconds ?? 0)) lowest = Math.min(lowest, replicas);
    if (atMs > now - 1000 * (down.stabilizationWindowSeconds ?? 0)) highest = Math.max(highest, replicas);
  }
  return Math.max(lowest, Math.min(highest, current));
}

function scaleUpLimit({ spec, current, events, now }: LimitsObserved): number {
  const { selectPolicy, policies } = rulesOf(spec).up;
  if (selectPolicy === 'Disabled') return current;
  const limits = (policies ?? []).map((policy) => {
    const start = current - changedIn(policy, events, now);
    return policy.type === 'Pods' ? start + policy.value : Math.ceil(start * (1 + policy.value / 100));
  });
  return selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits);
}

function scaleDownLimit({ spec, current, events, now }: LimitsObserved): number {
  const { selectPolicy, policies } = rulesOf(spec).down;
  if (selectPolicy === 'Disabled') return current;
  const limits = (policies ?? []).map((policy) => {
    const start = current - changedIn(policy, events, now);
    return policy.type === 'Pods' ? start - policy.value : Math.floor(start * (1 - policy.value / 100));
  });
  return selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits);
}

function changedIn(
  { periodSeconds }: V2HPAScalingPolicy,
  events: readonly ScaleEvent[],
  now: number,
): number {
  return events
    .filter(({ atMs }) => atMs > now - periodSeconds * 1000)
    .reduce((total, { change }) => total + change, 0);
}
