// Which pods make room for one that the node cannot do without. Pure.
// Guarantees: no critical pod goes for another of no higher priority; best-effort pods go before burstable ones and those
// before guaranteed ones; nothing goes when it would not be enough.
import { qosClassOf } from '../api/kinds/pod/qos.js';
import type { Shortage } from './admission.js';
import { isCritical } from './eviction/rank.js';
import type { Pod } from './ports.js';
import { podRequest } from './resources.js';

/** What is still missing, by resource. */
type Missing = ReadonlyMap<string, number>;

/** Undefined when no set of the others would do. */
export function podsToPreempt(
  pod: Pod,
  others: readonly Pod[],
  shortages: readonly Shortage[],
): readonly Pod[] | undefined {
  const missing: Missing = new Map(
    shortages.map(({ name, requested, used, capacity }) => [name, requested + used - capacity]),
  );
  const may = others.filter((other) => isPreemptable(pod, other));
  if (less(missing, may).size > 0) return undefined;
  const of = (qos: string) => may.filter(({ spec }) => qosClassOf(spec) === qos);
  const bestEffort = of('BestEffort');
  const burstable = of('Burstable');
  const guaranteed = of('Guaranteed');
  // Of the better ones only those without whom all of the lesser ones are not enough.
  const third = nearest(guaranteed, less(missing, [...bestEffort, ...burstable]));
  const second = nearest(burstable, less(missing, [...bestEffort, ...third]));
  const first = nearest(bestEffort, less(missing, [...second, ...third]));
  return [...first, ...second, ...third];
}

function isPreemptable(pod: Pod, other: Pod): boolean {
  if (isCritical(pod) && !isCritical(other)) return true;
  const [own, its] = [pod.spec.priority, other.spec.priority];
  return own !== undefined && its !== undefined && own > its;
}

const requestOf = ({ spec }: Pod, name: string) => (name === 'pods' ? 1 : podRequest(spec, name));

function less(missing: Missing, without: readonly Pod[]): Missing {
  const left = [...missing].map(([name, amount]): [string, number] => [
    name,
    without.reduce((rest, pod) => rest - requestOf(pod, name), amount),
  ]);
  return new Map(left.filter(([, amount]) => amount > 0));
}

/** One after the other, each time the one that comes nearest to what is still missing. */
function nearest(pods: readonly Pod[], missing: Missing): readonly Pod[] {
  if (missing.size === 0) return [];
  const [best] = [...pods].sort((a, b) => distance(a, missing) - distance(b, missing) || bySize(a, b));
  if (best === undefined) return [];
  const rest = pods.filter((one) => one !== best);
  return [best, ...nearest(rest, less(missing, [best]))];
}

function distance(pod: Pod, missing: Missing): number {
  return [...missing].reduce((sum, [name, amount]) => {
    const left = Math.max(0, amount - requestOf(pod, name));
    return sum + (left / amount) ** 2;
  }, 0);
}

const bySize = (a: Pod, b: Pod) =>
  requestOf(a, 'memory') - requestOf(b, 'memory') || requestOf(a, 'cpu') - requestOf(b, 'cpu');
