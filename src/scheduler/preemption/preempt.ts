// Where a pod that fits nowhere should make room for itself, and for whom that hurts least. Pure, but for taken-back what-ifs.
// Guarantees: Kubernetes' order of preference; a refusal says why, node by node, in its words.
import type { Scratch } from '../choose.js';
import { diagnosisMessage, REJECTED, Rejections, reasonsOf } from '../diagnosis.js';
import { startOf } from '../podInfo.js';
import { type Victims, victimsOn, type WhatIf } from './victims.js';

export type Preemption =
  | { readonly victims: Victims }
  /** Why there is none: the part of the message after the reasons of the nodes. */
  | { readonly message: string };

const NO_VICTIMS = 'No preemption victims found for incoming pod';
const NOT_HELPFUL = 'Preemption is not helpful for scheduling';
const LEAST_CANDIDATES = 100;
const CANDIDATE_PERCENTAGE = 10;

/** Why a pod may not displace others; undefined when it may. */
export function whyNotEligible({ pod, snapshot, nominations }: WhatIf): string | undefined {
  if (pod.spec.preemptionPolicy === 'Never') return 'not eligible due to preemptionPolicy=Never.';
  const nominated = nominations.nodeOf(pod.key) ?? pod.pod.status?.nominatedNodeName;
  const slot = nominated ? snapshot.table.slotOf(nominated) : undefined;
  if (slot === undefined) return undefined;
  for (const { priority, terminating } of snapshot.table.pods[slot]?.values() ?? [])
    if (terminating && priority < pod.priority)
      return 'not eligible due to a terminating pod on the nominated node.';
  return undefined;
}

export interface PreemptOptions {
  readonly scratch: Scratch;
  random(): number;
}

/** Kubernetes' choice among the nodes where room could be made. */
export function choosePreemption(whatIf: WhatIf, options: PreemptOptions): Preemption {
  const found = findCandidates(whatIf, options);
  if ('message' in found) return found;
  const victims = gentlest(found.candidates);
  return victims === undefined ? { message: '' } : { victims };
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
  let best = candidates;
  for (const measure of MEASURES) {
    if (best.length <= 1) break;
    let least = Number.POSITIVE_INFINITY;
    let kept: Victims[] = [];
    for (const candidate of best) {
      const value = measure(candidate);
      if (value < least) kept = [];
      if (value <= least) {
        least = value;
        kept.push(candidate);
      }
    }
    best = kept;
  }
  return best.reduce<Victims | undefined>(
    (latest, candidate) =>
      latest === undefined || earliestStart(candidate) > earliestStart(latest) ? candidate : latest,
    undefined,
  );
}

const MEASURES: readonly ((victims: Victims) => number)[] = [
  ({ violations }) => violations,
  ({ pods }) => pods[0]?.priority ?? Number.NEGATIVE_INFINITY,
  // Shifted so that a negative priority still counts as one more victim.
  ({ pods }) => pods.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
  ({ pods }) => pods.length,
];

/** Of the victims that matter most, when the first started. */
function earliestStart({ pods: [first] }: Victims): string {
  return first === undefined ? '' : startOf(first);
}
