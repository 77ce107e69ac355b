// Which thresholds are crossed, since when, and which conditions of the node follow. Pure.
// Guarantees: a soft threshold counts only after its grace period; once crossed, one ends only when its minimum is reclaimed.
import { integerValue } from '../../api/quantity.js';
import type { KubeletConfig } from '../config.js';
import {
  conditionOf,
  type Observation,
  type Observations,
  type PressureCondition,
  SIGNALS,
  type Signal,
} from './signals.js';

export interface Threshold {
  readonly signal: Signal;
  /** A quantity, or a percentage of the capacity. */
  readonly value: string;
  readonly minReclaim: string;
  /** 0 for a hard one. */
  readonly graceMs: number;
}

export function thresholdsOf(
  config: Pick<
    KubeletConfig,
    'evictionHard' | 'evictionSoft' | 'evictionSoftGrace' | 'evictionMinimumReclaim'
  >,
): readonly Threshold[] {
  const { evictionHard, evictionSoft, evictionSoftGrace, evictionMinimumReclaim: reclaim } = config;
  return SIGNALS.flatMap((signal) => {
    const minReclaim = reclaim[signal] ?? '0';
    const [hard, soft] = [evictionHard[signal], evictionSoft[signal]];
    return [
      ...(hard === undefined ? [] : [{ signal, value: hard, minReclaim, graceMs: 0 }]),
      ...(soft === undefined
        ? []
        : [{ signal, value: soft, minReclaim, graceMs: evictionSoftGrace[signal] ?? 0 }]),
    ];
  });
}

export function amountOf(value: string, { capacity }: Observation): number {
  return value.endsWith('%') ? (capacity * Number(value.slice(0, -1))) / 100 : integerValue(value);
}

export interface Crossed {
  readonly threshold: Threshold;
  /** When it was first seen crossed, without a break since. */
  readonly sinceMs: number;
}

/** All that are crossed now, the soft ones also within their grace period. */
export function crossedNow(
  thresholds: readonly Threshold[],
  observations: Observations,
  before: readonly Crossed[],
  nowMs: number,
): readonly Crossed[] {
  return thresholds.flatMap((threshold) => {
    const seen = observations.get(threshold.signal);
    if (seen === undefined) return [];
    const known = before.find((one) => one.threshold === threshold);
    const margin = known === undefined ? 0 : amountOf(threshold.minReclaim, seen);
    if (seen.available >= amountOf(threshold.value, seen) + margin) return [];
    return [known ?? { threshold, sinceMs: nowMs }];
  });
}

/** Those that call for an eviction: memory first, then as Kubernetes orders them. */
export function due(crossed: readonly Crossed[], nowMs: number): readonly Threshold[] {
  return crossed
    .filter(({ threshold, sinceMs }) => nowMs - sinceMs >= threshold.graceMs)
    .map(({ threshold }) => threshold)
    .sort((a, b) => SIGNALS.indexOf(a.signal) - SIGNALS.indexOf(b.signal));
}

/** When each condition last had a cause; it stays until `transitionMs` after that. */
export function conditionsAfter(
  lastCause: ReadonlyMap<PressureCondition, number>,
  crossed: readonly Crossed[],
  { nowMs, transitionMs }: { readonly nowMs: number; readonly transitionMs: number },
): ReadonlyMap<PressureCondition, number> {
  const next = new Map(lastCause);
  for (const { threshold } of crossed) next.set(conditionOf(threshold.signal), nowMs);
  for (const [condition, at] of next) if (at !== nowMs && nowMs - at >= transitionMs) next.delete(condition);
  return next;
}
