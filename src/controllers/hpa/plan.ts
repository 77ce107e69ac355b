// What a HorizontalPodAutoscaler makes of its metrics: the number to scale to and what its status says. Pure.
// Guarantees: when a metric is missing it may still grow by the others, but never shrinks.
import type {
  V2HorizontalPodAutoscaler,
  V2HorizontalPodAutoscalerCondition,
  V2HorizontalPodAutoscalerStatus,
  V2MetricStatus,
} from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { stampOf } from '../pods.js';
import { type LimitedWish, limitReplicas, type Recommendation, type ScaleEvent } from './limits.js';

export type Autoscaler = Stored<V2HorizontalPodAutoscaler>;

export type MetricResult =
  | { readonly replicas: number; readonly status: V2MetricStatus; readonly name: string }
  | { readonly error: string; readonly reason: string };

interface AutoscalerObserved {
  readonly autoscaler: Autoscaler;
  /** What the target wishes for now. */
  readonly specReplicas: number;
  readonly statusReplicas: number;
  /** One for each metric of the spec. */
  readonly metrics: readonly MetricResult[];
  readonly recommendations: readonly Recommendation[];
  readonly events: readonly ScaleEvent[];
  readonly now: number;
}

interface AutoscalerPlan {
  /** Undefined when the target stays as it is. */
  readonly scaleTo?: number;
  /** What the metrics asked for, before all limits; to be remembered. */
  readonly recommendation?: number;
  readonly status: V2HorizontalPodAutoscalerStatus;
  /** Why it scales. */
  readonly because: string;
}

export function planAutoscaler(observed: AutoscalerObserved): AutoscalerPlan {
  const { autoscaler, specReplicas, metrics } = observed;
  const { spec } = autoscaler;
  const conditions = new Conditions(autoscaler, observed.now);
  conditions.set(
    'AbleToScale',
    'True',
    'SucceededGetScale',
    "the HPA controller was able to get the target's current scale",
  );
  const min = spec.minReplicas ?? 1;
  if (specReplicas === 0 && min !== 0) {
    conditions.set(
      'ScalingActive',
      'False',
      'ScalingDisabled',
      'scaling is disabled since the replica count of the target is zero',
    );
    return { status: statusOf(observed, conditions, 0), because: '' };
  }
  if (specReplicas > spec.maxReplicas)
    return scaled(
      observed,
      conditions,
      spec.maxReplicas,
      'Current number of replicas above Spec.MaxReplicas',
    );
  if (specReplicas < min)
    return scaled(observed, conditions, min, 'Current number of replicas below Spec.MinReplicas');
  const chosen = choose(metrics, specReplicas);
  if ('error' in chosen) {
    conditions.set(
      'ScalingActive',
      'False',
      chosen.reason,
      `the HPA was unable to compute the replica count: ${chosen.error}`,
    );
    return { status: statusOf(observed, conditions, specReplicas), because: '' };
  }
  conditions.set(
    'ScalingActive',
    'True',
    'ValidMetricFound',
    `the HPA was able to successfully calculate a replica count from ${chosen.name}`,
  );
  const { recommendations, events, now } = observed;
  const wish = limitReplicas({
    spec,
    current: specReplicas,
    desired: chosen.replicas,
    recommendations,
    events,
    now,
  });
  tellLimits(conditions, wish, chosen.replicas < specReplicas);
  const why = chosen.replicas > specReplicas ? `${chosen.name} above target` : 'All metrics below target';
  return { ...scaled(observed, conditions, wish.replicas, why), recommendation: chosen.replicas };
}

function tellLimits(conditions: Conditions, wish: LimitedWish, wasShrinking: boolean): void {
  if (wish.stabilized) {
    const [reason, message] = wasShrinking
      ? [
          'ScaleDownStabilized',
          'recent recommendations were higher than current one, applying the highest recent recommendation',
        ]
      : [
          'ScaleUpStabilized',
          'recent recommendations were lower than current one, applying the lowest recent recommendation',
        ];
    conditions.set('AbleToScale', 'True', reason ?? '', message ?? '');
  } else conditions.set('AbleToScale', 'True', 'ReadyForNewScale', 'recommended size matches current size');
  conditions.set('ScalingLimited', wish.isLimited ? 'True' : 'False', wish.reason, wish.message);
}

/** What is told of metrics that could not be had. */
export function metricEvents(metrics: readonly MetricResult[]): { reason: string; message: string }[] {
  const failures = metrics.flatMap((result) => ('error' in result ? [result] : []));
  const [first] = failures;
  const each = failures.map(({ reason, error }) => ({ reason, message: error }));
  if (first === undefined || failures.length < metrics.length) return each;
  const message = `invalid metrics (${failures.length} invalid out of ${metrics.length}), first error is: ${first.error}`;
  return [...each, { reason: 'FailedComputeMetricsReplicas', message }];
}

/** The metric that asks for the most. */
function choose(metrics: readonly MetricResult[], current: number): MetricResult {
  let best: Extract<MetricResult, { replicas: number }> | undefined;
  let failure: Extract<MetricResult, { error: string }> | undefined;
  for (const result of metrics) {
    if ('error' in result) failure ??= result;
    else if (best === undefined || result.replicas > best.replicas) best = result;
  }
  if (best === undefined) return failure ?? { error: 'no metrics', reason: 'InvalidMetricSourceType' };
  return failure !== undefined && best.replicas < current ? failure : best;
}

function scaled(
  observed: AutoscalerObserved,
  conditions: Conditions,
  replicas: number,
  because: string,
): AutoscalerPlan {
  if (replicas === observed.specReplicas)
    return { status: statusOf(observed, conditions, replicas), because };
  conditions.set(
    'AbleToScale',
    'True',
    'SucceededRescale',
    `the HPA controller was able to update the target scale to ${replicas}`,
  );
  const status = { ...statusOf(observed, conditions, replicas), lastScaleTime: stampOf(observed.now) };
  return { scaleTo: replicas, status, because };
}

function statusOf(
  { autoscaler, statusReplicas, metrics }: AutoscalerObserved,
  conditions: Conditions,
  desiredReplicas: number,
): V2HorizontalPodAutoscalerStatus {
  const { generation } = autoscaler.metadata;
  const { lastScaleTime } = autoscaler.status ?? {};
  const currentMetrics = metrics.flatMap((result) => ('error' in result ? [] : [result.status]));
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
    currentReplicas: statusReplicas,
    desiredReplicas,
    ...(currentMetrics.length === 0 ? {} : { currentMetrics }),
    conditions: conditions.list(),
  };
}

export class Conditions {
  readonly #now: number;
  #all: readonly V2HorizontalPodAutoscalerCondition[];

  constructor({ status }: Autoscaler, now: number) {
    this.#all = status?.conditions ?? [];
    this.#now = now;
  }

  set(type: string, status: 'True' | 'False', reason: string, message: string): void {
    const old = this.#all.find((condition) => condition.type === type);
    const lastTransitionTime =
      old?.status === status ? (old.lastTransitionTime ?? stampOf(this.#now)) : stampOf(this.#now);
    const condition = { type, status, reason, message, lastTransitionTime };
    this.#all =
      old === undefined
        ? [...this.#all, condition]
        : this.#all.map((each) => (each === old ? condition : each));
  }

  list(): readonly V2HorizontalPodAutoscalerCondition[] {
    return this.#all;
  }
}
