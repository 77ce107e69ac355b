// The schedule of a CronJob: five fields, or a word such as @daily. Pure; the API's checks and the controller read it here.
// Guarantees: what Kubernetes' parser refuses is refused in its words; what passes is the minutes it names, as sets.
import { DurationError, parseGoDuration } from '../base/goDuration.js';

export class CronError extends Error {
  override readonly name = 'CronError';
}

/** At every minute that all sets have; or every so often, from the start on. */
export type CronSchedule = CronFields | { readonly everySeconds: number };

export interface CronFields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>;
  /** Either day field is enough when neither has a star without a step; otherwise both must fit. */
  readonly eitherDay: boolean;
}

interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly names: readonly string[];
}

const NO_NAMES: readonly string[] = [];
const MONTHS = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MINUTE: Bounds = { low: 0, high: 59, names: NO_NAMES };
const HOUR: Bounds = { low: 0, high: 23, names: NO_NAMES };
const DAY_OF_MONTH: Bounds = { low: 1, high: 31, names: NO_NAMES };
const MONTH: Bounds = { low: 1, high: 12, names: MONTHS };
const DAY_OF_WEEK: Bounds = { low: 0, high: 6, names: DAYS };

const WORDS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const MAX_LENGTH = 1024;

/** Throws CronError. */
export function parseCron(text: string): CronSchedule {
  if (text === '') throw new CronError('empty spec string');
  if (text.length > MAX_LENGTH) throw new CronError(`spec string is longer than ${MAX_LENGTH} characters`);
  if (text.startsWith('@')) return parseWord(text);
  return parseFields(text);
}

function parseWord(text: string): CronSchedule {
  const fields = Object.hasOwn(WORDS, text) ? WORDS[text] : undefined;
  if (fields !== undefined) return parseFields(fields);
  if (text.startsWith('@every ')) return { everySeconds: parseEvery(text.slice('@every '.length)) };
  throw new CronError(`unrecognized descriptor: ${text}`);
}

/** A duration as Go writes it: 1h30m. At least a second. */
function parseEvery(text: string): number {
  try {
    return Math.max(1, Math.floor(parseGoDuration(text) / 1000));
  } catch (cause) {
    const why = cause instanceof DurationError ? cause.message : 'unreadable';
    throw new CronError(`failed to parse duration @every ${text}: ${why}`, { cause });
  }
}

function parseFields(text: string): CronFields {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5 || fields[0] === '')
    throw new CronError(
      `expected exactly 5 fields, found ${text.trim() === '' ? 0 : fields.length}: [${fields.join(' ')}]`,
    );
  const [minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = ''] = fields;
  return {
    minutes: parseField(minute, MINUTE),
    hours: parseField(hour, HOUR),
    daysOfMonth: parseField(dayOfMonth, DAY_OF_MONTH),
    months: parseField(month, MONTH),
    daysOfWeek: parseField(dayOfWeek, DAY_OF_WEEK),
    eitherDay: !isOpen(dayOfMonth) && !isOpen(dayOfWeek),
  };
}

/** What stands behind a star is not looked at, but for a step. */
const isOpen = (field: string) => field.split(',').some((part) => /^[*?](-[^/]*)?(\/\+?0*1)?$/.test(part));

function parseField(field: string, bounds: Bounds): ReadonlySet<number> {
  const values = new Set<number>();
  for (const part of field.split(',').filter((text) => text !== ''))
    for (const value of parseRange(part, bounds)) values.add(value);
  return values;
}

/** `*`, `5`, `1-5`, each with or without `/step`. */
function parseRange(part: string, bounds: Bounds): number[] {
  const [range = '', stepText, ...moreSteps] = part.split('/');
  if (moreSteps.length > 0) throw new CronError(`too many slashes: ${part}`);
  const [first = '', last, ...moreEnds] = range.split('-');
  const isAll = first === '*' || first === '?';
  if (moreEnds.length > 0 && !isAll) throw new CronError(`too many hyphens: ${part}`);
  const low = isAll ? bounds.low : parseValue(first, bounds);
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  // A step without an end runs to the end: N/step.
  const fallback = isAll || stepText !== undefined ? bounds.high : low;
  const high = isAll || last === undefined ? fallback : parseValue(last, bounds);
  if (low < bounds.low)
    throw new CronError(`beginning of range (${low}) below minimum (${bounds.low}): ${part}`);
  if (high > bounds.high)
    throw new CronError(`end of range (${high}) above maximum (${bounds.high}): ${part}`);
  if (low > high) throw new CronError(`beginning of range (${low}) beyond end of range (${high}): ${part}`);
  if (step === 0) throw new CronError(`step of range should be a positive number: ${part}`);
  const values: number[] = [];
  for (let value = low; value <= high; value += step) values.push(value);
  return values;
}

function parseValue(text: string, { names }: Bounds): number {
  const named = text === '' ? -1 : names.indexOf(text.toLowerCase());
  return named === -1 ? parseNumber(text) : named;
}

function parseNumber(text: string): number {
  if (!/^[+-]?\d{1,9}$/.test(text))
    throw new CronError(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  const number = Number(text);
  if (number < 0) throw new CronError(`negative number (${number}) not allowed: ${text}`);
  return number;
}
