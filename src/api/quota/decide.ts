// Whether what a write would use still fits a ResourceQuota. Pure.
// Guarantees: only what the quota limits is looked at; amounts are compared exactly.
import type { V1ResourceQuota } from '../gen/types.js';
import { canonicalQuantity, compareQuantities } from '../quantity.js';
import { sum, type Usage } from './usage.js';

/** The part of a usage that the quota limits. */
export function limitedPart({ spec }: V1ResourceQuota, usage: Usage): Usage {
  const hard = spec?.hard ?? {};
  return Object.fromEntries(Object.entries(usage).filter(([name]) => hard[name] !== undefined));
}

/** Why it does not fit, or undefined. `delta` is already the limited part. */
export function exceeded(name: string, hard: Usage, used: Usage, delta: Usage): string | undefined {
  const after = sum(used, delta);
  const over = Object.keys(delta)
    .filter((key) => compareQuantities(after[key] ?? '0', hard[key] ?? '0') > 0)
    .sort();
  if (over.length === 0) return undefined;
  const list = (amounts: Usage) =>
    over.map((key) => `${key}=${canonicalQuantity(amounts[key] ?? '0')}`).join(',');
  return `exceeded quota: ${name}, requested: ${list(delta)}, used: ${list(used)}, limited: ${list(hard)}`;
}
