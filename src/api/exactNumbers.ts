// Numbers of a JSON text that a double does not hold as they are written. Pure.
// Guarantees: linear in the value, and in the text only if the value shows that one may be among them; what Go's float64 is
// given too passes, as a double is the same.
import { isMembers } from './ownKeys.js';

const MOST = 2n ** 63n - 1n;
const LEAST = -(2n ** 63n);

/**
 * The first number that parsing has changed, as it was written; undefined if there is none. Without the text, the first that
 * it may have changed.
 */
export function inexactNumber(data: unknown, json?: string): string | undefined {
  const doubtful = doubtfulNumber(data);
  if (doubtful === undefined || json === undefined) return doubtful?.toString();
  for (const literal of numbersIn(json)) if (isInexact(literal)) return literal;
  return undefined;
}

/** The first that is none, or that stands for several whole numbers of 64 bits. */
function doubtfulNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return isDoubtful(value) ? value : undefined;
  if (!Array.isArray(value) && !isMembers(value)) return undefined;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    const found = doubtfulNumber(member);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isDoubtful = (value: number): boolean =>
  !Number.isFinite(value) ||
  (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) <= 2 ** 63);

function isInexact(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return true;
  // With a point or an exponent it is a float64 to Go too.
  if (!/^-?\d+$/.test(literal)) return false;
  const whole = BigInt(literal);
  return whole >= LEAST && whole <= MOST && BigInt(value) !== whole;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;

/** Of a text that was parsed: outside of strings whatever begins as a number is one. */
function* numbersIn(json: string): Generator<string> {
  for (let at = 0; at < json.length; ) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = behindString(json, at + 1);
    else if (code === MINUS || isDigit(code)) {
      const start = at;
      while (at < json.length && isOfNumber(json.charCodeAt(at))) at += 1;
      yield json.slice(start, at);
    } else at += 1;
  }
}

function behindString(json: string, from: number): number {
  for (let at = from; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return json.length;
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
/** Digits, `+`, `-`, `.`, `E` and `e`. */
const isOfNumber = (code: number): boolean =>
  isDigit(code) || code === 0x2b || code === MINUS || code === 0x2e || code === 0x45 || code === 0x65;
