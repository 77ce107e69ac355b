// Bounds that are a number of pods or a share of them: 2, "25%". Pure.
// Guarantees: what passes is no less than zero, and within the share that the caller allows.
import { type Cause, checkNotNegative, invalidValue } from '../causes.js';

const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

export function validateIntOrPercent(
  bound: number | string,
  at: string,
  { most = Number.POSITIVE_INFINITY }: { readonly most?: number } = {},
): Cause[] {
  if (typeof bound === 'number') return checkNotNegative(at, bound);
  if (!/^[0-9]{1,9}%$/.test(bound)) return [invalidValue(at, bound, PERCENT)];
  return Number.parseInt(bound, 10) > most
    ? [invalidValue(at, bound, `must not be greater than ${most}%`)]
    : [];
}

/** Also of "0%". */
export const isZero = (bound: number | string): boolean => Number.parseInt(String(bound), 10) === 0;
