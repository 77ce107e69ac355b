// Checks of what an autoscaler measures and how fast it may move. Pure.
// Guarantees: every metric has the source that its type names, with one target that can be reached.
import {
  type Cause,
  checkNotNegative,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from '../../causes.js';
import type {
  V2HorizontalPodAutoscalerBehavior,
  V2HPAScalingPolicy,
  V2HPAScalingRules,
  V2MetricSpec,
  V2MetricTarget,
} from '../../gen/types.js';
import { tryParseQuantity } from '../../quantity.js';

const SOURCES = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
} as const;
const TYPES = Object.keys(SOURCES);
const MAX_PERIOD_S = 1800;
const MAX_WINDOW_S = 3600;

export function validateMetrics(metrics: readonly V2MetricSpec[], at: string): Cause[] {
  return metrics.flatMap((metric, index) => validateMetric(metric, `${at}[${index}]`));
}

function validateMetric(metric: V2MetricSpec, at: string): Cause[] {
  const { type } = metric;
  if (!type) return [required(`${at}.type`, 'must specify a metric source type')];
  const field = Object.hasOwn(SOURCES, type) ? SOURCES[type as keyof typeof SOURCES] : undefined;
  if (field === undefined) return [notSupported(`${at}.type`, type, TYPES)];
  const others = Object.values(SOURCES).filter((name) => name !== field && metric[name] !== undefined);
  const causes: Cause[] = others.map((name) =>
    forbiddenField(`${at}.${name}`, 'must populate the given metric source only'),
  );
  const source = metric[field];
  if (source === undefined)
    return [...causes, required(`${at}.${field}`, 'must populate information for the given metric source')];
  const here = `${at}.${field}`;
  causes.push(...validateTarget(source.target, `${here}.target`));
  if (field === 'resource' || field === 'containerResource') {
    const { name } = metric[field] ?? {};
    if (!name) causes.push(required(`${here}.name`, 'must specify a resource name'));
    if (field === 'containerResource' && !metric.containerResource?.container)
      causes.push(required(`${here}.container`, 'must specify a container'));
    causes.push(...validateShare(source.target, `${here}.target`));
  } else if (!metric[field]?.metric?.name)
    causes.push(required(`${here}.metric.name`, 'must specify a metric name'));
  if (field === 'pods' && source.target?.averageValue === undefined)
    causes.push(required(`${here}.target.averageValue`, 'must specify a positive target averageValue'));
  if (field === 'object' && !metric.object?.describedObject?.name)
    causes.push(required(`${here}.describedObject.name`));
  return causes;
}

/** A share of what was asked for, or an amount, but not both. */
function validateShare(target: V2MetricTarget | undefined, at: string): Cause[] {
  const { averageUtilization: share, averageValue: amount } = target ?? {};
  if (share === undefined && amount === undefined)
    return [
      required(`${at}.averageUtilization`, 'must set either a target raw value or a target utilization'),
    ];
  return share !== undefined && amount !== undefined
    ? [forbiddenField(`${at}.averageValue`, 'may not set both a target raw value and a target utilization')]
    : [];
}

function validateTarget(target: V2MetricTarget | undefined, at: string): Cause[] {
  if (!target?.type) return [required(`${at}.type`, 'must specify a metric target type')];
  const { type, value, averageValue, averageUtilization } = target;
  const causes: Cause[] = [];
  if (!['Utilization', 'Value', 'AverageValue'].includes(type))
    causes.push(invalidValue(`${at}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  for (const [field, amount] of Object.entries({ value, averageValue }))
    if (amount !== undefined && (tryParseQuantity(amount)?.nanos ?? 0n) <= 0n)
      causes.push(invalidValue(`${at}.${field}`, amount, 'must be positive'));
  if (averageUtilization !== undefined && averageUtilization < 1)
    causes.push(invalidValue(`${at}.averageUtilization`, averageUtilization, 'must be greater than 0'));
  return causes;
}

export function validateBehavior(
  behavior: V2HorizontalPodAutoscalerBehavior | undefined,
  at: string,
): Cause[] {
  return [
    ...validateRules(behavior?.scaleUp, `${at}.scaleUp`),
    ...validateRules(behavior?.scaleDown, `${at}.scaleDown`),
  ];
}

function validateRules(rules: V2HPAScalingRules | undefined, at: string): Cause[] {
  if (rules === undefined) return [];
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [] } = rules;
  const causes = checkNotNegative(`${at}.stabilizationWindowSeconds`, window);
  if (window !== undefined && window > MAX_WINDOW_S)
    causes.push(
      invalidValue(
        `${at}.stabilizationWindowSeconds`,
        window,
        `must be less than or equal to ${MAX_WINDOW_S}`,
      ),
    );
  if (selectPolicy !== undefined && !['Disabled', 'Max', 'Min'].includes(selectPolicy))
    causes.push(notSupported(`${at}.selectPolicy`, selectPolicy, ['Disabled', 'Max', 'Min']));
  if (policies.length === 0) causes.push(required(`${at}.policies`, 'must specify at least one Policy'));
  return [
    ...causes,
    ...policies.flatMap((policy, index) => validatePolicy(policy, `${at}.policies[${index}]`)),
  ];
}

function validatePolicy({ type, value = 0, periodSeconds = 0 }: V2HPAScalingPolicy, at: string): Cause[] {
  const causes: Cause[] =
    type === 'Pods' || type === 'Percent' ? [] : [notSupported(`${at}.type`, type, ['Percent', 'Pods'])];
  if (value <= 0) causes.push(invalidValue(`${at}.value`, value, 'must be greater than zero'));
  if (periodSeconds <= 0)
    causes.push(invalidValue(`${at}.periodSeconds`, periodSeconds, 'must be greater than zero'));
  if (periodSeconds > MAX_PERIOD_S)
    causes.push(
      invalidValue(`${at}.periodSeconds`, periodSeconds, `must be less than or equal to ${MAX_PERIOD_S}`),
    );
  return causes;
}
