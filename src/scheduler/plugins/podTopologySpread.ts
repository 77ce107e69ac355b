// Pods of one kind spread over zones, hosts or any other label: as a must, or as a wish. Pure.
// Guarantees: looks only at counters of matching pods, and at each node once a pod.
import { requiredNodes, type SlotMatcher } from '../nodeMatcher.js';
import { MAX_SCORE, type NodeFilter, type NodeScorer, type Plugin } from '../plugin.js';
import type { PodInfo, SpreadConstraint } from '../podInfo.js';
import type { LabelColumn } from '../snapshot/labelColumns.js';
import type { SlotCounts } from '../snapshot/podClasses.js';
import type { Snapshot } from '../snapshot/snapshot.js';
import { matchesTerm } from '../terms.js';
import { keepsAway } from './taintToleration.js';

export interface PodTopologySpreadArgs {
  /** For pods that have no constraints of their own; none when there are none to give. */
  defaults?(pod: PodInfo): readonly SpreadConstraint[];
  /** Defaults of the system do not ask that a node has all of the labels. */
  readonly defaultsNeedAllLabels?: boolean;
}

const HOSTNAME = 'kubernetes.io/hostname';
const REASONS = [
  [],
  ["node(s) didn't match pod topology spread constraints (missing required label)"],
  ["node(s) didn't match pod topology spread constraints"],
] as const;

export const podTopologySpread = (args: PodTopologySpreadArgs = {}): Plugin => {
  const constraintsOf = (pod: PodInfo, hard: boolean) =>
    (pod.spread.length > 0 ? pod.spread : (args.defaults?.(pod) ?? [])).filter((one) => one.hard === hard);
  return {
    name: 'PodTopologySpread',
    looksAround: true,
    wokenBy: [
      'pod added',
      'pod labels',
      'pod removed',
      'node added',
      'node labels',
      'node taints',
      'node removed',
    ],
    filter: (pod, snapshot) => spreadFilter(pod, snapshot, constraintsOf(pod, true)),
    score: (pod, snapshot) =>
      spreadScorer(pod, snapshot, {
        constraints: constraintsOf(pod, false),
        needsAll: pod.spread.length > 0 || args.defaultsNeedAllLabels === true,
      }),
    helps: ({ kind, pod: other }, pod, { classes }) =>
      other === undefined ||
      kind === 'pod labels' ||
      constraintsOf(pod, true).some(({ term }) =>
        matchesTerm(
          term,
          { namespace: other.namespace, labels: other.pod.metadata.labels },
          classes.namespaceLabels(other.namespace),
        ),
      ),
  };
};

interface Asked {
  readonly constraint: SpreadConstraint;
  readonly column: LabelColumn;
  readonly counts: SlotCounts;
  /** Whether the pod itself will count. */
  readonly self: number;
  /** Pods there by domain; -1 for a domain no node of which is eligible. */
  readonly byDomain: Float64Array;
  least: number;
}

function ask(pod: PodInfo, { labels, classes }: Snapshot, constraint: SpreadConstraint): Asked {
  const column = labels.of(constraint.topologyKey);
  const identity = { namespace: pod.namespace, labels: pod.pod.metadata.labels };
  return {
    constraint,
    column,
    counts: classes.matching([constraint.term], { skipTerminating: true }),
    self: matchesTerm(constraint.term, identity, classes.namespaceLabels(pod.namespace)) ? 1 : 0,
    byDomain: new Float64Array(column.values.length).fill(-1),
    least: 0,
  };
}

/** Which nodes a constraint counts: those the pod could go to, as far as the constraint honours that. */
function eligibility(
  pod: PodInfo,
  snapshot: Snapshot,
): (constraint: SpreadConstraint, slot: number) => boolean {
  const wanted: SlotMatcher | undefined = requiredNodes(pod.spec, snapshot);
  const { sets, ids } = snapshot.taints;
  const repels = sets.map(({ taints }) => keepsAway(pod, taints));
  return ({ honorsAffinity, honorsTaints }, slot) =>
    !(honorsAffinity && wanted !== undefined && !wanted(slot)) &&
    !(honorsTaints && repels[ids[slot] ?? 0] === true);
}

const hasAll = (asked: readonly Asked[], slot: number) => {
  for (const { column } of asked) if ((column.ids[slot] ?? 0) === 0) return false;
  return true;
};

function spreadFilter(
  pod: PodInfo,
  snapshot: Snapshot,
  constraints: readonly SpreadConstraint[],
): NodeFilter | undefined {
  if (constraints.length === 0) return undefined;
  const asked = constraints.map((constraint) => ask(pod, snapshot, constraint));
  const isEligible = eligibility(pod, snapshot);
  for (const slot of snapshot.order()) {
    if (!hasAll(asked, slot)) continue;
    for (const one of asked) if (isEligible(one.constraint, slot)) countIn(one, slot);
  }
  for (const one of asked) one.least = leastOf(one);
  return {
    test(slot) {
      for (const { column, byDomain, self, least, constraint } of asked) {
        const domain = column.ids[slot] ?? 0;
        if (domain === 0) return 1;
        if (Math.max(0, byDomain[domain] ?? 0) + self - least > constraint.maxSkew) return 2;
      }
      return 0;
    },
    reasons: (code) => REASONS[code] ?? [],
    isFinal: (code) => code === 1,
  };
}

function countIn({ column, byDomain, counts }: Asked, slot: number): void {
  const domain = column.ids[slot] ?? 0;
  byDomain[domain] = Math.max(0, byDomain[domain] ?? 0) + (counts.get(slot) ?? 0);
}

/** The pods of the emptiest domain; none when there are fewer domains than asked for. */
function leastOf({ byDomain, constraint: { minDomains } }: Asked): number {
  let least = Number.POSITIVE_INFINITY;
  let domains = 0;
  for (const count of byDomain) {
    if (count < 0) continue;
    least = Math.min(least, count);
    domains += 1;
  }
  return domains < minDomains ? 0 : least;
}

function spreadScorer(
  pod: PodInfo,
  snapshot: Snapshot,
  { constraints, needsAll }: { constraints: readonly SpreadConstraint[]; needsAll: boolean },
): NodeScorer | undefined {
  if (constraints.length === 0) return undefined;
  return {
    score(slots, count, out) {
      const asked = constraints.map((constraint) => ask(pod, snapshot, constraint));
      const isIgnored = (slot: number) => needsAll && !hasAll(asked, slot);
      const weights = domainWeights(asked, slots, count, isIgnored);
      const isEligible = eligibility(pod, snapshot);
      for (const slot of snapshot.order()) {
        if (isIgnored(slot)) continue;
        for (const one of asked)
          if ((one.byDomain[one.column.ids[slot] ?? 0] ?? -1) >= 0 && isEligible(one.constraint, slot))
            countIn(one, slot);
      }
      for (let at = 0; at < count; at += 1) {
        const slot = slots[at] ?? 0;
        out[at] = isIgnored(slot) ? -1 : rawScore(asked, weights, slot);
      }
      normalize(out, count);
    },
  };
}

/** Opens the domains of the nodes in question; many domains weigh more than few, by their logarithm. */
function domainWeights(
  asked: readonly Asked[],
  slots: Int32Array,
  count: number,
  isIgnored: (slot: number) => boolean,
): readonly number[] {
  let nodes = 0;
  const sizes = asked.map(() => 0);
  for (let at = 0; at < count; at += 1) {
    const slot = slots[at] ?? 0;
    if (isIgnored(slot)) continue;
    nodes += 1;
    asked.forEach(({ constraint, column, byDomain }, which) => {
      const domain = column.ids[slot] ?? 0;
      if (constraint.topologyKey === HOSTNAME || domain === 0 || (byDomain[domain] ?? 0) >= 0) return;
      byDomain[domain] = 0;
      sizes[which] = (sizes[which] ?? 0) + 1;
    });
  }
  return asked.map(({ constraint }, which) =>
    Math.log((constraint.topologyKey === HOSTNAME ? nodes : (sizes[which] ?? 0)) + 2),
  );
}

function rawScore(asked: readonly Asked[], weights: readonly number[], slot: number): number {
  let score = 0;
  for (let which = 0; which < asked.length; which += 1) {
    const one = asked[which] as Asked;
    const domain = one.column.ids[slot] ?? 0;
    if (domain === 0) continue;
    const { topologyKey, maxSkew } = one.constraint;
    const pods = topologyKey === HOSTNAME ? (one.counts.get(slot) ?? 0) : (one.byDomain[domain] ?? 0);
    score += pods * (weights[which] ?? 0) + (maxSkew - 1);
  }
  return Math.round(score);
}

/** Fewest pods is best; nodes left out (-1) get nothing. */
function normalize(out: Float64Array, count: number): void {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let at = 0; at < count; at += 1) {
    const raw = out[at] ?? -1;
    if (raw < 0) continue;
    least = Math.min(least, raw);
    most = Math.max(most, raw);
  }
  for (let at = 0; at < count; at += 1) {
    const raw = out[at] ?? -1;
    if (raw < 0) out[at] = 0;
    else out[at] = most === 0 ? MAX_SCORE : Math.floor((MAX_SCORE * (most + least - raw)) / most);
  }
}
