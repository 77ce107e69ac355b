// All extenders of a pod, one after the other: which nodes they leave, and what they add to their scores.
// Guarantees: each sees only what those before it left; one that fails stops the pod, unless it may be ignored.
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import type { PodInfo } from '../podInfo.js';
import type { Candidates, Extender, Node } from './extender.js';

/** Ratings go to 10, scores to 100. */
const SCALE = 10;

export interface ExtendersAnswer {
  /** The nodes that all of them take, each with what is to be added to its score. */
  readonly allowed: ReadonlyMap<string, number>;
  readonly failed: ReadonlyMap<string, string>;
  readonly failedForGood: ReadonlyMap<string, string>;
}

export async function callExtenders(
  extenders: readonly Extender[],
  { pod }: PodInfo,
  { nodes, log }: { readonly nodes: readonly Node[]; readonly log: Log },
): Promise<ExtendersAnswer> {
  const failed = new Map<string, string>();
  const failedForGood = new Map<string, string>();
  let left = nodes;
  for (const extender of extenders) {
    if (extender.settings.filterVerb === undefined || left.length === 0) continue;
    try {
      const verdict = await extender.filter(pod, left);
      for (const [node, reason] of verdict.failed) failed.set(node, reason);
      for (const [node, reason] of verdict.failedForGood) failedForGood.set(node, reason);
      left = left.filter(({ metadata }) => verdict.passed.has(metadata.name));
    } catch (error) {
      if (!extender.settings.ignorable) throw error;
      log.warn('an extender was skipped', { error: messageOf(error) });
    }
  }
  const allowed = new Map(left.map(({ metadata }) => [metadata.name, 0]));
  for (const extender of extenders) {
    if (extender.settings.prioritizeVerb === undefined || left.length < 2) continue;
    try {
      for (const [node, rating] of await extender.prioritize(pod, left)) {
        const before = allowed.get(node);
        if (before !== undefined) allowed.set(node, before + rating * extender.settings.weight * SCALE);
      }
    } catch (error) {
      // The others' ratings still say where it is best.
      log.warn('an extender did not rate nodes', { error: messageOf(error) });
    }
  }
  return { allowed, failed, failedForGood };
}

/** What the extenders leave of the nodes where pods could be displaced. */
export async function callExtendersOnVictims(
  extenders: readonly Extender[],
  { pod }: PodInfo,
  { candidates, log }: { readonly candidates: Candidates; readonly log: Log },
): Promise<Candidates> {
  let left = candidates;
  for (const extender of extenders) {
    if (extender.settings.preemptVerb === undefined || left.size === 0) continue;
    try {
      left = await extender.preempt(pod, left);
    } catch (error) {
      if (!extender.settings.ignorable) throw error;
      log.warn('an extender was skipped', { error: messageOf(error) });
    }
  }
  return left;
}
