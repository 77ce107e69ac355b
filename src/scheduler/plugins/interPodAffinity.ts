// Pods that want to be near others, or far from them, and what pods already placed want of the one to come. Pure.
// Guarantees: looks only at counters of matching pods; the number of pods in the cluster does not matter.
import { MAX_SCORE, type NodeFilter, type NodeScorer, type Plugin } from '../plugin.js';
import type { PodInfo } from '../podInfo.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { type AffinityTerm, matchesTerm } from '../terms.js';
import { sumByDomain } from './domains.js';

export interface InterPodAffinityArgs {
  /** What a required affinity of a placed pod is worth to the pod it speaks of. */
  readonly hardPodAffinityWeight?: number;
  readonly ignorePreferredTermsOfExistingPods?: boolean;
}

const REASONS = [
  [],
  ["node(s) didn't match pod affinity rules"],
  ["node(s) didn't match pod anti-affinity rules"],
  ["node(s) didn't satisfy existing pods anti-affinity rules"],
] as const;

export const interPodAffinity = ({
  hardPodAffinityWeight = 1,
  ignorePreferredTermsOfExistingPods = false,
}: InterPodAffinityArgs = {}): Plugin => ({
  name: 'InterPodAffinity',
  looksAround: true,
  wokenBy: ['node added', 'pod added', 'pod labels', 'pod removed', 'node labels', 'namespace'],
  filter: affinityFilter,
  score: (pod, snapshot) =>
    affinityScorer(pod, snapshot, { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods }),
  helps({ kind, pod: other }, pod, { classes }) {
    if (other === undefined) return true;
    const speakOf = (terms: readonly AffinityTerm[], of: PodInfo) =>
      terms.some((term) =>
        matchesTerm(
          term,
          { namespace: of.namespace, labels: of.pod.metadata.labels },
          classes.namespaceLabels(of.namespace),
        ),
      );
    if (kind === 'pod added') return speakOf(pod.affinity, other);
    if (kind === 'pod removed') return speakOf(pod.antiAffinity, other) || speakOf(other.antiAffinity, pod);
    return pod.affinity.length + pod.antiAffinity.length > 0 || other.antiAffinity.length > 0;
  },
});

/** Whether a node lies in a domain whose sum is above zero. */
interface DomainSum {
  readonly ids: Int32Array;
  readonly sums: Float64Array;
}

function affinityFilter(pod: PodInfo, snapshot: Snapshot): NodeFilter | undefined {
  const { labels, classes } = snapshot;
  const repelling: DomainSum[] = [];
  for (const held of classes.of(pod).spokenOf) {
    if (held.kind !== 'antiAffinity' || held.holders === 0) continue;
    const column = labels.of(held.topologyKey);
    repelling.push({ ids: column.ids, sums: sumByDomain(held.counts, column) });
  }
  const avoided = pod.antiAffinity.map((term): DomainSum => {
    const column = labels.of(term.topologyKey);
    const matching = classes.matching([term], { skipTerminating: false });
    return { ids: column.ids, sums: sumByDomain(matching, column) };
  });
  const sought = soughtBy(pod, snapshot);
  if (repelling.length + avoided.length === 0 && sought === undefined) return undefined;
  const isIn = ({ ids, sums }: DomainSum, slot: number) => (sums[ids[slot] ?? 0] ?? 0) > 0;
  return {
    test(slot) {
      if (sought !== undefined && !sought(slot)) return 1;
      for (const domain of avoided) if (isIn(domain, slot)) return 2;
      for (const domain of repelling) if (isIn(domain, slot)) return 3;
      return 0;
    },
    reasons: (code) => REASONS[code] ?? [],
    isFinal: (code) => code === 1,
  };
}

/** A pod counts for affinity when it matches all of the terms, as in Kubernetes. */
function soughtBy(pod: PodInfo, { labels, classes }: Snapshot): ((slot: number) => boolean) | undefined {
  if (pod.affinity.length === 0) return undefined;
  const matching = classes.matching(pod.affinity, { skipTerminating: false });
  const domains = pod.affinity.map(({ topologyKey }): DomainSum => {
    const column = labels.of(topologyKey);
    return { ids: column.ids, sums: sumByDomain(matching, column) };
  });
  const identity = { namespace: pod.namespace, labels: pod.pod.metadata.labels };
  const own = classes.namespaceLabels(pod.namespace);
  // The first of a group that wants to be together has nobody to be near to.
  const isFirst =
    domains.every(({ sums }) => sums.every((sum) => sum === 0)) &&
    pod.affinity.every((term) => matchesTerm(term, identity, own));
  return (slot) =>
    domains.every(({ ids, sums }) => {
      const domain = ids[slot] ?? 0;
      return domain !== 0 && (isFirst || (sums[domain] ?? 0) > 0);
    });
}

function affinityScorer(
  pod: PodInfo,
  { labels, classes }: Snapshot,
  args: Required<InterPodAffinityArgs>,
): NodeScorer | undefined {
  const byKey = new Map<string, DomainSum>();
  const add = (topologyKey: string, counts: ReadonlyMap<number, number>, factor: number) => {
    const column = labels.of(topologyKey);
    const known = byKey.get(topologyKey);
    const sums = sumByDomain(counts, column, known?.sums, factor);
    if (known === undefined) byKey.set(topologyKey, { ids: column.ids, sums });
  };
  for (const wish of pod.wishes)
    add(wish.topologyKey, classes.matching([wish], { skipTerminating: false }), wish.weight);
  // Wishes of placed pods count only when someone wishes, as Kubernetes is asked to ignore them otherwise.
  const ignoresWishes = args.ignorePreferredTermsOfExistingPods && pod.wishes.length === 0;
  for (const held of classes.of(pod).spokenOf) {
    if (held.holders === 0 || held.kind === 'antiAffinity' || ignoresWishes) continue;
    if (held.kind === 'wish') add(held.topologyKey, held.counts, 1);
    else if (args.hardPodAffinityWeight > 0) add(held.topologyKey, held.counts, args.hardPodAffinityWeight);
  }
  const domains = [...byKey.values()];
  if (domains.every(({ sums }) => sums.every((sum) => sum === 0))) return undefined;
  return { score: (slots, count, out) => scoreDomains(domains, slots, count, out) };
}

function scoreDomains(
  domains: readonly DomainSum[],
  slots: Int32Array,
  count: number,
  out: Float64Array,
): void {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < count; at += 1) {
    let sum = 0;
    for (const { ids, sums } of domains) sum += sums[ids[slots[at] ?? 0] ?? 0] ?? 0;
    out[at] = sum;
    least = Math.min(least, sum);
    most = Math.max(most, sum);
  }
  for (let at = 0; at < count; at += 1)
    out[at] = most === least ? 0 : Math.floor((MAX_SCORE * ((out[at] ?? 0) - least)) / (most - least));
}
