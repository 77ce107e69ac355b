// What a request for logs asks, read from its query. Pure.
// Guarantees: a value that makes no sense is refused with its name, before a file is opened.

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly sinceMs: number | undefined;
  readonly stream: 'stdout' | 'stderr' | undefined;
}

export class LogOptionsError extends Error {
  override readonly name = 'LogOptionsError';
}

export function logOptions(query: URLSearchParams, nowMs: number): LogOptions {
  const tailLines = query.get('tailLines') === 'all' ? undefined : wholeNumber(query, 'tailLines', 0);
  const stream = streamOf(query.get('stream'));
  if (tailLines !== undefined && stream !== undefined)
    throw new LogOptionsError(
      'tailLines: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now',
    );
  return {
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    tailLines,
    limitBytes: wholeNumber(query, 'limitBytes', 1),
    sinceMs: since(query, nowMs),
    stream,
  };
}

/** As Go reads a query: present without a value is true. */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && !['false', '0', 'f', 'F', 'FALSE', 'False'].includes(value);
}

function since(query: URLSearchParams, nowMs: number): number | undefined {
  const seconds = wholeNumber(query, 'sinceSeconds', 1);
  const time = query.get('sinceTime');
  if (seconds !== undefined && time !== null)
    throw new LogOptionsError('Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified');
  if (seconds !== undefined) return nowMs - seconds * 1000;
  if (time === null || time === '') return undefined;
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) throw new LogOptionsError('sinceTime: Invalid value: must be a time in RFC 3339');
  return ms;
}

function wholeNumber(query: URLSearchParams, name: string, least: number): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least) return value;
  throw new LogOptionsError(`${name}: Invalid value: must be greater than or equal to ${least}`);
}

function streamOf(text: string | null): 'stdout' | 'stderr' | undefined {
  if (text === null || text === '' || text === 'All') return undefined;
  if (text === 'Stdout') return 'stdout';
  if (text === 'Stderr') return 'stderr';
  throw new LogOptionsError('stream: Unsupported value: supported values: "All", "Stdout", "Stderr"');
}
