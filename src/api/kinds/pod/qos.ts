// The quality of service class of a pod: who is evicted first, and which cgroup it gets. Pure.
// Guarantees: depends on the CPU and memory of init and main containers only, never on their order.
import type { V1PodSpec, V1ResourceRequirements } from '../../gen/types.js';
import { compareQuantities } from '../../quantity.js';

type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

const COUNTED = ['cpu', 'memory'];

/** Amounts must have passed validation. */
export function qosClassOf(spec: Pick<V1PodSpec, 'containers' | 'initContainers' | 'resources'>): QosClass {
  // Resources of the whole pod, when given, speak for all its containers.
  const all: readonly V1ResourceRequirements[] =
    spec.resources !== undefined && hasAmounts(spec.resources)
      ? [spec.resources]
      : [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(({ resources }) => resources ?? {});
  if (!all.some(hasAmounts)) return 'BestEffort';
  return all.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

function hasAmounts({ requests, limits }: V1ResourceRequirements): boolean {
  return COUNTED.some((name) => isPositive(requests?.[name]) || isPositive(limits?.[name]));
}

function isGuaranteed({ requests, limits }: V1ResourceRequirements): boolean {
  return COUNTED.every((name) => {
    const limit = limits?.[name];
    return (
      limit !== undefined && isPositive(limit) && compareQuantities(requests?.[name] ?? limit, limit) === 0
    );
  });
}

const isPositive = (amount: string | undefined) => amount !== undefined && compareQuantities(amount, '0') > 0;
