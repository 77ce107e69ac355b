// The kinds of values in a KubeletConfiguration, read from YAML or from the text of a flag. Pure.
// Guarantees: a wrong value throws InvalidConfig with the field's name and what was expected; nothing is guessed.

import type { V1Taint } from '../../api/gen/types.js';
import { integerValue, tryParseQuantity } from '../../api/quantity.js';
import { goDurationMs } from '../../base/goDuration.js';
import { KubeletError } from '../error.js';
import type { ShutdownPeriod } from '../shutdown/plan.js';

export interface ValueKind<T> {
  /** From the file. */
  value(given: unknown, field: string): T;
  /** From the command line. */
  text(given: string, field: string): T;
}

export function invalid(field: string, given: unknown, expected: string): KubeletError {
  return new KubeletError(
    'InvalidConfig',
    `${field}: ${JSON.stringify(given) ?? 'nothing'} is not ${expected}`,
  );
}

/** One that reads the file's value by a test and the flag's text by making the value first. */
function kind<T>(
  expected: string,
  read: (given: unknown) => T | undefined,
  fromText: (given: string) => unknown,
): ValueKind<T> {
  const value = (given: unknown, field: string, shown = given) => {
    const result = read(given);
    if (result === undefined) throw invalid(field, shown, expected);
    return result;
  };
  return { value, text: (given, field) => value(fromText(given), field, given) };
}

const isObject = (given: unknown): given is Record<string, unknown> =>
  typeof given === 'object' && given !== null && !Array.isArray(given);

export const text = kind<string>(
  'a text',
  (given) => (typeof given === 'string' ? given : undefined),
  String,
);

export const absolutePath = kind<string>(
  'an absolute path',
  (given) => (typeof given === 'string' && (given === '' || given.startsWith('/')) ? given : undefined),
  String,
);

export const integer = (low: number, high: number) =>
  kind<number>(
    `a whole number from ${low} to ${high}`,
    (given) =>
      typeof given === 'number' && Number.isInteger(given) && given >= low && given <= high
        ? given
        : undefined,
    (given) => (/^-?\d+$/.test(given) ? Number(given) : undefined),
  );

export const boolean = kind<boolean>(
  'true or false',
  (given) => (typeof given === 'boolean' ? given : undefined),
  (given) => (given === 'true' ? true : given === 'false' ? false : undefined),
);

export const oneOf = (...words: readonly string[]) =>
  kind<string>(
    `one of ${words.join(', ')}`,
    (given) => (typeof given === 'string' && words.includes(given) ? given : undefined),
    String,
  );

const duration = (low: number, expected: string) =>
  kind<number>(
    expected,
    (given) => {
      const ms = typeof given === 'string' ? goDurationMs(given) : undefined;
      return ms !== undefined && ms >= low ? ms : undefined;
    },
    String,
  );

/** Milliseconds. */
export const positiveDuration = duration(1, 'a duration such as 10s or 1m30s');
export const durationOrZero = duration(0, 'a duration such as 10s, or 0s');

/** Bytes. */
export const bytes = kind<number>(
  'a quantity such as 10Mi',
  (given) => {
    if (typeof given !== 'string' || tryParseQuantity(given) === undefined) return undefined;
    return integerValue(given) > 0 ? integerValue(given) : undefined;
  },
  String,
);

export const textList = kind<readonly string[]>(
  'a list of texts',
  (given) => (Array.isArray(given) && given.every((one) => typeof one === 'string') ? given : undefined),
  (given) => given.split(',').filter((word) => word !== ''),
);

export const listOf = (words: readonly string[]) =>
  kind<readonly string[]>(
    `a list out of ${words.join(', ')}`,
    (given) => (Array.isArray(given) && given.every((one) => words.includes(one)) ? given : undefined),
    (given) => given.split(',').filter((word) => word !== ''),
  );

type Check = (value: unknown) => boolean;

/** `separator` is what stands between name and value in a flag. */
function mapOf<T>(expected: string, separator: string, check: Check, convert: (value: string) => T) {
  return kind<Readonly<Record<string, T>>>(
    expected,
    (given) =>
      isObject(given) && Object.values(given).every(check)
        ? Object.fromEntries(Object.entries(given).map(([name, value]) => [name, convert(String(value))]))
        : undefined,
    (given) => {
      const pairs = given
        .split(',')
        .filter((pair) => pair !== '')
        .map((pair) => [pair.slice(0, pair.indexOf(separator)), pair.slice(pair.indexOf(separator) + 1)]);
      return given !== '' && pairs.some(([name]) => name === '') ? undefined : Object.fromEntries(pairs);
    },
  );
}

const isText: Check = (value) => typeof value === 'string';
const isQuantity: Check = (value) => typeof value === 'string' && tryParseQuantity(value) !== undefined;
const isAmount: Check = (value) =>
  isQuantity(value) || (typeof value === 'string' && /^\d+(\.\d+)?%$/.test(value));

export const textMap = mapOf('a map of texts', '=', isText, String);
export const quantities = mapOf('a map of quantities', '=', isQuantity, String);
/** Signals of the eviction manager with what must be left: a quantity or a share. */
export const thresholds = mapOf('a map of signals to quantities or percentages', '<', isAmount, String);
export const reclaims = mapOf('a map of signals to quantities or percentages', '=', isAmount, String);
export const durations = mapOf(
  'a map of signals to durations',
  '=',
  (value) => typeof value === 'string' && goDurationMs(value) !== undefined,
  (value) => goDurationMs(value) ?? 0,
);

export const shutdownPeriods = kind<readonly ShutdownPeriod[]>(
  'a list of priority and shutdownGracePeriodSeconds',
  (given) => {
    const right = (one: unknown): one is ShutdownPeriod =>
      isObject(one) &&
      Number.isInteger(one['priority']) &&
      Number.isInteger(one['shutdownGracePeriodSeconds']) &&
      Number(one['shutdownGracePeriodSeconds']) >= 0;
    return Array.isArray(given) && given.every(right) ? given : undefined;
  },
  () => undefined, // no flag says it
);

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export const taints = kind<readonly V1Taint[]>(
  'a list of taints with key and effect',
  (given) => {
    const right = (one: unknown): one is V1Taint =>
      isObject(one) && isText(one['key']) && EFFECTS.includes(String(one['effect']));
    return Array.isArray(given) && given.every(right) ? given : undefined;
  },
  // key=value:effect, or key:effect
  (given) =>
    given.split(',').map((one) => {
      const [, key, , value, effect] = /^([^=:]+)(=([^:]*))?:(\w+)$/.exec(one) ?? [];
      return { key, effect, ...(value ? { value } : {}) };
    }),
);
