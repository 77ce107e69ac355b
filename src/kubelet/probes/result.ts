// What one probe says, and when enough of them say it. Pure.
// Guarantees: a result changes only after as many in a row as its threshold; an unknown one changes nothing.
import type { V1Probe } from '../../api/gen/types.js';
import { LONGEST_TIMER_MS } from '../../base/deadline.js';
import type { ProbeKind } from '../ports.js';

export type Outcome = 'success' | 'warning' | 'failure' | 'unknown';

export interface ProbeAnswer {
  readonly outcome: Outcome;
  /** What the probe saw; for `unknown`, why it could not look. */
  readonly output: string;
}

export interface ProbeRecord {
  /** What counts: readiness starts as failed, liveness as passed, startup as neither. */
  readonly result: 'success' | 'failure' | 'unknown';
  readonly last: 'success' | 'failure' | undefined;
  readonly inRow: number;
}

interface Timing {
  readonly initialDelayMs: number;
  readonly periodMs: number;
  readonly timeoutMs: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

const INITIAL = { readiness: 'failure', liveness: 'success', startup: 'unknown' } as const;

export const initialRecord = (kind: ProbeKind): ProbeRecord => ({
  result: INITIAL[kind],
  last: undefined,
  inRow: 0,
});

export function recordAfter(record: ProbeRecord, { outcome }: ProbeAnswer, timing: Timing): ProbeRecord {
  if (outcome === 'unknown') return record;
  const last = outcome === 'failure' ? 'failure' : 'success';
  const inRow = record.last === last ? record.inRow + 1 : 1;
  const needed = last === 'failure' ? timing.failureThreshold : timing.successThreshold;
  return { result: inRow >= needed ? last : record.result, last, inRow };
}

/** Kubernetes' defaults for what is not set or makes no sense. */
const timer = (seconds: number) => Math.min(seconds * 1000, LONGEST_TIMER_MS);

export function timingOf(probe: V1Probe): Timing {
  const atLeastOne = (value: number | undefined, otherwise: number) =>
    value !== undefined && value >= 1 ? value : otherwise;
  return {
    initialDelayMs: Math.max(0, probe.initialDelaySeconds ?? 0) * 1000,
    periodMs: timer(atLeastOne(probe.periodSeconds, 10)),
    timeoutMs: timer(atLeastOne(probe.timeoutSeconds, 1)),
    successThreshold: atLeastOne(probe.successThreshold, 1),
    failureThreshold: atLeastOne(probe.failureThreshold, 3),
  };
}
