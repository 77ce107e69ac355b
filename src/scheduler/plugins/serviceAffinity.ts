// The first schedulers' CheckServiceAffinity, off unless asked for: pods of one Service share the values of some labels. Pure.
import { selectorFromMap } from '../../api/selectors.js';
import { type Plugin, simpleFilter } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { spreadTermOf } from '../terms.js';

interface ServiceAffinityArgs {
  readonly affinityLabels: readonly string[];
}

/** The labels a node must have: what the pod selects itself, or else what the node of a fellow pod has. */
function wantedLabels(
  pod: PodInfo,
  snapshot: Snapshot,
  { affinityLabels }: ServiceAffinityArgs,
): Readonly<Record<string, string>> {
  const wanted: Record<string, string> = {};
  for (const key of affinityLabels) {
    const value = pod.spec.nodeSelector?.[key];
    if (value !== undefined) wanted[key] = value;
  }
  if (affinityLabels.every((key) => Object.hasOwn(wanted, key))) return wanted;
  const service = snapshot.catalog
    .services(pod.namespace)
    .find(
      ({ spec: { selector } }) =>
        selector !== undefined && selectorFromMap(selector)(pod.pod.metadata.labels),
    );
  if (service === undefined) return wanted;
  const term = spreadTermOf(pod.pod, { matchLabels: pod.pod.metadata.labels }, undefined);
  const fellows = snapshot.classes.matching([term], { skipTerminating: true });
  const [slot] = [...fellows.keys()].filter((one) => snapshot.table.exists[one] === 1).sort((a, b) => a - b);
  const labels = slot === undefined ? undefined : snapshot.table.nodes[slot]?.metadata.labels;
  for (const key of affinityLabels) {
    const value = labels?.[key];
    if (value !== undefined && !Object.hasOwn(wanted, key)) wanted[key] = value;
  }
  return wanted;
}

export const serviceAffinity = (args: ServiceAffinityArgs): Plugin => ({
  name: 'ServiceAffinity',
  looksAround: true,
  wokenBy: ['node added', 'pod added', 'pod removed', 'node labels', 'service'],
  filter(pod, snapshot) {
    const wanted = Object.entries(wantedLabels(pod, snapshot, args)).map(([key, value]) => {
      const { ids, numbers } = snapshot.labels.of(key);
      return { ids, number: numbers.get(value) ?? -1 };
    });
    if (wanted.length === 0) return undefined;
    return simpleFilter(
      (slot) => wanted.some(({ ids, number }) => ids[slot] !== number),
      "node(s) didn't match service affinity",
      { final: true },
    );
  },
});
