// A measured figure beside its peer's, or beside a limit. Pure.
// Guarantees: a figure that misses its goal says so, and tells its runs and their spread; the JSON form is plain objects.
import { round, type Summary, summarize } from './samples.js';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly ours: Summary;
  /** What counts against the goal: the median, or the worst run where the goal is about the worst. */
  readonly value: number;
  /** What it was measured against in the same run, in turns. */
  readonly peer?: { readonly name: string; readonly summary: Summary; readonly ratio: number };
  /** What else the runs told, such as processor time. */
  readonly note?: string;
  /** In words, such as "at most 1.2x"; empty where there is none. */
  readonly goal: string;
  readonly met: boolean;
}

interface Measured {
  readonly name: string;
  readonly unit: string;
  readonly samples: readonly number[];
  readonly note?: string;
}

interface Beside extends Measured {
  readonly peer: string;
  readonly peerSamples: readonly number[];
}

/** Against a peer: our median over the peer's may be `atMost`. */
export function againstPeer(measured: Beside, atMost: number): Figure {
  const [base, summary] = [figureOf(measured), summarize(measured.peerSamples)];
  const ratio = base.value / summary.median;
  const goal = atMost < 1 ? `${round(1 / atMost)}x faster or better` : `at most ${round(atMost)}x`;
  return { ...base, peer: { name: measured.peer, summary, ratio }, goal, met: ratio <= atMost };
}

/** With a limit of its own. */
export function againstLimit(measured: Measured, limit: number): Figure {
  const base = figureOf(measured);
  return { ...base, goal: `at most ${round(limit)} ${measured.unit}`, met: base.value <= limit };
}

/** With a limit that no run may pass. */
export function worstAgainstLimit(measured: Measured, limit: number): Figure {
  const base = figureOf(measured);
  const goal = `never over ${round(limit)} ${measured.unit}`;
  return { ...base, value: base.ours.most, goal, met: base.ours.most <= limit };
}

/** Of what is better the more there is of it. */
export function atLeast(measured: Measured, least: number): Figure {
  const base = figureOf(measured);
  return { ...base, goal: `at least ${round(least)} ${measured.unit}`, met: base.value >= least };
}

/** Without a goal: it only tells. */
export const told = (measured: Measured): Figure => ({ ...figureOf(measured), goal: '', met: true });

function figureOf({ name, unit, samples, note }: Measured) {
  const ours = summarize(samples);
  return { name, unit, ours, value: ours.median, ...(note === undefined ? {} : { note }) };
}
