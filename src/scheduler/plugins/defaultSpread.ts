// Spreading for pods that ask for none themselves: those of one owner stay apart, as a wish. Pure.
// Guarantees: only pods that something owns and labels; labels that every pod has to itself do not keep them from belonging together.
import type { V1TopologySpreadConstraint } from '../../api/gen/types.js';
import { spreadConstraintOf } from '../podInfo.js';
import type { PodTopologySpreadArgs } from './podTopologySpread.js';

/** Each pod of a set has a value of its own. */
const PERSONAL = new Set(['statefulset.kubernetes.io/pod-name', 'apps.kubernetes.io/pod-index']);

/** The labels that a template gives are those of its owner's pods, and of no others as a rule. */
function defaultsOf(
  constraints: readonly V1TopologySpreadConstraint[],
): NonNullable<PodTopologySpreadArgs['defaults']> {
  return ({ pod }) => {
    const { labels = {}, ownerReferences = [] } = pod.metadata;
    const shared = Object.entries(labels).filter(([key]) => !PERSONAL.has(key));
    if (ownerReferences.length === 0 || shared.length === 0) return [];
    const labelSelector = { matchLabels: Object.fromEntries(shared) };
    return constraints.map((one) => spreadConstraintOf(pod, { ...one, labelSelector }));
  };
}

export function listedSpread(constraints: readonly V1TopologySpreadConstraint[]): PodTopologySpreadArgs {
  return { defaults: defaultsOf(constraints), defaultsNeedAllLabels: true };
}

export const systemSpread: PodTopologySpreadArgs = {
  defaults: defaultsOf([
    { topologyKey: 'kubernetes.io/hostname', maxSkew: 3, whenUnsatisfiable: 'ScheduleAnyway' },
    { topologyKey: 'topology.kubernetes.io/zone', maxSkew: 5, whenUnsatisfiable: 'ScheduleAnyway' },
  ]),
  defaultsNeedAllLabels: false,
};
