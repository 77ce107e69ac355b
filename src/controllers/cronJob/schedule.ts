// Cron schedules as text: five fields, `@daily` and its like, `@every 90s`. Pure.
// Guarantees: what Kubernetes refuses is undefined; day of month and day of week are joined as cron joins them.

export type Schedule =
  | { readonly everyMs: number }
  | {
      readonly minutes: ReadonlySet<number>;
      readonly hours: ReadonlySet<number>;
      readonly months: ReadonlySet<number>;
      readonly daysOfMonth: ReadonlySet<number>;
      readonly daysOfWeek: ReadonlySet<number>;
      /** Neither of the two day fields is open: then a day of either is one. */
      readonly eitherDay: boolean;
    };

const DESCRIPTORS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

export function parseSchedule(text: string): Schedule | undefined {
  const trimmed = text.trim();
  if (trimmed.startsWith('@every ')) return parseEvery(trimmed.slice('@every '.length));
  if (trimmed.startsWith('@')) {
    const meant = Object.hasOwn(DESCRIPTORS, trimmed) ? DESCRIPTORS[trimmed] : undefined;
    return meant === undefined ? undefined : parseSchedule(meant);
  }
  const fields = trimmed.split(/\s+/);
  if (fields.length !== 5) return undefined;
  const [minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = ''] = fields;
  const minutes = parseField(minute, { first: 0, last: 59 });
  const hours = parseField(hour, { first: 0, last: 23 });
  const daysOfMonth = parseField(dayOfMonth, { first: 1, last: 31 });
  const months = parseField(month, { first: 1, last: 12, names: MONTHS, nameBase: 1 });
  const daysOfWeek = parseField(dayOfWeek, { first: 0, last: 6, names: DAYS, nameBase: 0 });
  if (!minutes || !hours || !daysOfMonth || !months || !daysOfWeek) return undefined;
  return {
    minutes: minutes.values,
    hours: hours.values,
    months: months.values,
    daysOfMonth: daysOfMonth.values,
    daysOfWeek: daysOfWeek.values,
    eitherDay: !daysOfMonth.isOpen && !daysOfWeek.isOpen,
  };
}

interface Range {
  readonly first: number;
  readonly last: number;
  readonly names?: readonly string[];
  readonly nameBase?: number;
}

interface Field {
  readonly values: ReadonlySet<number>;
  /** `*` or `?` with no step. */
  readonly isOpen: boolean;
}

function parseField(text: string, range: Range): Field | undefined {
  const values = new Set<number>();
  let isOpen = false;
  for (const part of text.split(',')) {
    const match = /^(\*|\?|[0-9A-Za-z]+)(?:-([0-9A-Za-z]+))?(?:\/([0-9]{1,4}))?$/.exec(part);
    if (match === null) return undefined;
    const [, from = '', to, stepText] = match;
    const isStar = from === '*' || from === '?';
    if (isStar && to !== undefined) return undefined;
    const step = stepText === undefined ? 1 : Number(stepText);
    const low = isStar ? range.first : numberOf(from, range);
    // "5/10" runs from 5 to the end.
    const high =
      isStar || (to === undefined && stepText !== undefined) ? range.last : numberOf(to ?? from, range);
    if (low === undefined || high === undefined || low > high || step === 0) return undefined;
    for (let value = low; value <= high; value += step) values.add(value);
    if (isStar && step === 1) isOpen = true;
  }
  return { values, isOpen };
}

function numberOf(text: string, { first, last, names = [], nameBase = 0 }: Range): number | undefined {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return named + nameBase;
  if (!/^[0-9]{1,4}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= first && value <= last ? value : undefined;
}

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Whole seconds, at least one. */
function parseEvery(text: string): Schedule | undefined {
  if (!/^([0-9]+(\.[0-9]+)?(ms|h|m|s))+$/.test(text.trim())) return undefined;
  let total = 0;
  for (const [, amount = '', , unit = ''] of text.matchAll(/([0-9]+(\.[0-9]+)?)(ms|h|m|s)/g))
    total += Number(amount) * (UNITS[unit] ?? 0);
  return Number.isFinite(total) ? { everyMs: Math.max(1000, Math.floor(total / 1000) * 1000) } : undefined;
}
