// Holds what a tracer tells against what a case expects, for chances all over the range.
import { expect } from 'vitest';
import type { Outcome } from './packet.js';
import type { SemanticCase } from './semantics.js';

const CHANCES = [0, 0.3, 0.49, 0.51, 0.7, 0.99];

export async function expectOutcomes(
  { expected, masqueraded = false, packet }: SemanticCase,
  trace: (random: () => number) => Promise<Outcome>,
): Promise<void> {
  const outcomes = await Promise.all(CHANCES.map((chance) => trace(() => chance)));
  if (expected === 'drop' || expected === 'reject') {
    for (const { verdict } of outcomes) expect(verdict).toBe(expected);
    return;
  }
  for (const { verdict } of outcomes) expect(verdict).toBe('accept');
  const reached = [...new Set(outcomes.map(({ to }) => to))].sort();
  const whole =
    expected === 'untouched' ? [`${packet.destination} ${packet.destinationPort}`] : [...expected];
  expect(reached).toEqual(whole.sort());
  for (const outcome of outcomes) expect(outcome.masqueraded).toBe(masqueraded);
}
