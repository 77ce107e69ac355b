// Counters, gauges and histograms, and their encoding for Prometheus: text format 0.0.4. Pure.
// Guarantees: a family holds a bounded number of series: what comes after the bound is counted in none; one without
// numbers is not told.

export type Labels = Readonly<Record<string, string>>;

export interface Family {
  readonly name: string;
  /** The lines of the family, HELP and TYPE first. */
  lines(): Iterable<string>;
}

/** Hostile requests must not fill memory through labels; real ones stay far below. */
const MAX_SERIES = 10_000;

interface Described {
  readonly name: string;
  readonly help: string;
}

/** The number of one series. */
export interface Count {
  value: number;
}

interface LabelledCount extends Count {
  readonly labels?: Labels;
}

export class Counter implements Family {
  readonly #described: Described;

  readonly #series = new Map<string, LabelledCount>();
  readonly name: string;

  constructor(described: Described) {
    this.#described = described;

    this.name = described.name;
  }

  add(labels: Labels, amount = 1): void {
    this.#hold(seriesKey(labels), labels).value += amount;
  }

  /** Forgets what is about something that is gone. */
  drop(isGone: (labels: Labels) => boolean): void {
    for (const [key, { labels }] of this.#series)
      if (labels !== undefined && isGone(labels)) this.#series.delete(key);
  }

  /** By labels that were written by seriesKey; whoever counts often keeps it. */
  series(key: string): Count {
    return this.#hold(key);
  }

  #hold(key: string, labels?: Labels): Count {
    const held = this.#series.get(key);
    if (held !== undefined) return held;
    const fresh = labels === undefined ? { value: 0 } : { value: 0, labels };
    if (this.#series.size < MAX_SERIES) this.#series.set(key, fresh);
    return fresh;
  }

  *lines(): Generator<string> {
    if (this.#series.size > 0) yield* heading(this.#described, 'counter');
    for (const [key, { value }] of this.#series) yield `${this.name}${braced(key)} ${value}`;
  }
}

/** Labels, or what seriesKey wrote of them; what has no number is left out. */
export type Sample = readonly [labels: Labels | string, value: number | undefined];

/** Numbers that others keep. */
export class Gauge implements Family {
  readonly #described: Described & { readonly type?: 'gauge' | 'counter' };
  readonly #read: () => Iterable<Sample>;

  readonly name: string;

  /** Asked when the text is made. */
  constructor(described: Described & { readonly type?: 'gauge' | 'counter' }, read: () => Iterable<Sample>) {
    this.#described = described;
    this.#read = read;

    this.name = described.name;
  }

  *lines(): Generator<string> {
    let isFirst = true;
    for (const [labels, value] of this.#read()) {
      if (value === undefined || Number.isNaN(value)) continue;
      if (isFirst) yield* heading(this.#described, this.#described.type ?? 'gauge');
      isFirst = false;
      yield `${this.name}${braced(typeof labels === 'string' ? labels : seriesKey(labels))} ${value}`;
    }
  }
}

/** The observations of one series. */
export class Observations {
  readonly #bounds: readonly number[];

  readonly buckets: number[];
  sum = 0;
  count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;

    this.buckets = bounds.map(() => 0);
  }

  observe(value: number): void {
    const { buckets } = this;
    const bounds = this.#bounds;
    for (let at = 0; at < bounds.length; at += 1) {
      if (value > (bounds[at] as number)) continue;
      buckets[at] = (buckets[at] as number) + 1;
      break;
    }
    this.sum += value;
    this.count += 1;
  }
}

export class Histogram implements Family {
  readonly #described: Described & { readonly bounds: readonly number[] };

  readonly #series = new Map<string, Observations>();
  readonly name: string;

  constructor(described: Described & { readonly bounds: readonly number[] }) {
    this.#described = described;

    this.name = described.name;
  }

  observe(key: string, value: number): void {
    this.series(key).observe(value);
  }

  series(key: string): Observations {
    const held = this.#series.get(key);
    if (held !== undefined) return held;
    const fresh = new Observations(this.#described.bounds);
    if (this.#series.size < MAX_SERIES) this.#series.set(key, fresh);
    return fresh;
  }

  *lines(): Generator<string> {
    if (this.#series.size > 0) yield* heading(this.#described, 'histogram');
    for (const [key, { buckets, sum, count }] of this.#series) {
      const prefix = key === '' ? '' : `${key},`;
      let below = 0;
      for (const [at, bound] of this.#described.bounds.entries()) {
        below += buckets[at] ?? 0;
        yield `${this.name}_bucket{${prefix}le="${bound}"} ${below}`;
      }
      yield `${this.name}_bucket{${prefix}le="+Inf"} ${count}`;
      yield `${this.name}_sum${braced(key)} ${sum}`;
      yield `${this.name}_count${braced(key)} ${count}`;
    }
  }
}

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function metricsText(families: readonly Family[]): string {
  const sorted = [...families].sort((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.flatMap((family) => [...family.lines()].map((line) => `${line}\n`)).join('');
}

/** So many bounds, each twice the one before it. */
export const doublingBounds = (first: number, count: number): readonly number[] =>
  // Doubled in floating point, 0.001 stays exact enough to print as people expect.
  Array.from({ length: count }, (_, at) => Number((first * 2 ** at).toPrecision(6)));

/** `verb="GET",code="200"`, in the order of the names. */
export function seriesKey(labels: Labels): string {
  return Object.keys(labels)
    .sort()
    .map((name) => `${name}="${escaped(labels[name] ?? '')}"`)
    .join(',');
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

const braced = (key: string): string => (key === '' ? '' : `{${key}}`);

function* heading({ name, help }: Described, type: string): Generator<string> {
  yield `# HELP ${name} ${help}`;
  yield `# TYPE ${name} ${type}`;
}
