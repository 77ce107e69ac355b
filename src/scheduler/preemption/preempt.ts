// Where a pod that fits nowhere should make room for itself, and for whom that hurts least. Pure, but for taken-back what-ifs.
// Guarantees: Kubernetes' order of preference; a refusal says why, node by node, in its words.
import type { Scratch } from '../choose.js';
import { diagnosisMessage, REJECTED, Rejections, reasonsOf } from '../diagnosis.js';
import { type Victims, victimsOn, type WhatIf } from './victims.js';

const NO_VICTIMS = 'No preemption victims found for incoming pod';
const NOT_HELPFUL = 'Preemption is not helpful for scheduling';
const LEAST_CANDIDATES = 100;
const CANDIDATE_PERCENTAGE = 10;

/** Why a pod may not displace others; undefined when it may. */
function whyNotEligible({ pod, snapshot, nominations }: WhatIf): string | undefined {
  if (pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  const nominated = nominations.nodeOf(pod.key) ?? pod.pod.status?.nominatedNodeName;
  const slot = nominated ? snapshot.table.slotOf(nominated) : undefined;
  if (slot === undefined) return undefined;
  for (const { priority, terminating } of snapshot.table.pods[slot]?.values() ?? [])
    if (terminating && priority < pod.priority)
      return 'not eligible due to a terminating pod on the nominated node.';
  return undefined;
}

interface PreemptOptions {
  readonly scratch: Scratch;
  random(): number;
}

/** At least one node where room could be made, or why there is none. */
export function findCandidates(
  whatIf: WhatIf,
  { scratch, random }: PreemptOptions,
): { readonly candidates: readonly Victims[] } | { readonly message: string } {
  const not = whyNotEligible(whatIf);
  if (not !== undefined) return { message: `preemption: ${not}` };
  const order = whatIf.snapshot.order();
  const potential = order.filter((slot) => scratch.status[slot] === REJECTED);
  const enough = Math.min(
    Math.max(Math.floor((order.length * CANDIDATE_PERCENTAGE) / 100), LEAST_CANDIDATES),
    potential.length,
  );
  const candidates: Victims[] = [];
  const rejections = new Rejections();
  const hopeless = !whatIf.snapshot.table.hasPodsBelow(whatIf.pod.priority);
  let empty = hopeless ? potential.length : 0;
  const offset = Math.floor(random() * potential.length);
  for (let at = 0; at < potential.length && !hopeless; at += 1) {
    const found = victimsOn(potential[(offset + at) % potential.length] ?? 0, whatIf);
    if (found === 'nobody') empty += 1;
    else if (found === 'unfit') rejections.note(whatIf.run.failed, whatIf.run.code);
    else if (candidates.push(found) >= enough && candidates.some(({ violations }) => violations === 0)) break;
  }
  if (candidates.length > 0) return { candidates };
  const reasons = reasonsOf(whatIf.run, rejections);
  if (empty > 0) reasons.set(NO_VICTIMS, empty);
  if (order.length > potential.length) reasons.set(NOT_HELPFUL, order.length - potential.length);
  const message = diagnosisMessage({ nodeCount: order.length, reasons, refusal: undefined });
  return { message: `preemption: ${message}` };
}

/**
 * Fewest budgets broken; then the least important of the most important victims; then the smallest sum of priorities; then
 * the fewest; then the one whose most important victims started last; then the first.
 */
export function gentlest(candidates: readonly Victims[]): Victims | undefined {
  let best: Victims | undefined;
  for (const candidate of candidates) if (best === undefined || isGentler(candidate, best)) best = candidate;
  return best;
}

function isGentler(one: Victims, other: Victims): boolean {
  if (one.violations !== other.violations) return one.violations < other.violations;
  const [highest, otherHighest] = [highestOf(one), highestOf(other)];
  if (highest !== otherHighest) return highest < otherHighest;
  if (one.sum !== other.sum) return one.sum < other.sum;
  if (one.pods.length !== other.pods.length) return one.pods.length < other.pods.length;
  return one.start > other.start;
}

function highestOf({ pods: [first] }: Victims): number {
  return first?.priority ?? Number.NEGATIVE_INFINITY;
}
