// Metrics in Prometheus' text form. Pure.
// Guarantees: a family is told once, with its help and type, before its samples; label values are escaped.

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels?: Labels;
  /** Left out when undefined. */
  readonly value: number | undefined;
  /** Of a histogram: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
}

export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly Sample[];
}

export function metricText(families: readonly Family[]): string {
  return families
    .map(({ name, help, type, samples }) => {
      const lines = samples.flatMap(({ labels = {}, value, suffix = '' }) =>
        value === undefined || Number.isNaN(value)
          ? []
          : [`${name}${suffix}${braces(labels)} ${shown(value)}\n`],
      );
      return lines.length === 0 ? '' : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
    })
    .join('');
}

function braces(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (text: string) =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
const shown = (value: number) => (value === Number.POSITIVE_INFINITY ? '+Inf' : String(value));

/** Counts by label values; the caller reads it as a family. */
export class Counter {
  private readonly values = new Map<string, { readonly labels: Labels; value: number }>();

  add(labels: Labels, amount = 1): void {
    const key = JSON.stringify(labels);
    const known = this.values.get(key);
    if (known === undefined) this.values.set(key, { labels, value: amount });
    else known.value += amount;
  }

  /** Forgets what is about something that is gone. */
  drop(isGone: (labels: Labels) => boolean): void {
    for (const [key, { labels }] of this.values) if (isGone(labels)) this.values.delete(key);
  }

  samples(): readonly Sample[] {
    return [...this.values.values()];
  }
}

export class Histogram {
  private readonly counts: number[];
  private sum = 0;
  private total = 0;

  constructor(private readonly bounds: readonly number[]) {
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.sum += value;
    this.total += 1;
    this.bounds.forEach((bound, i) => {
      if (value <= bound) this.counts[i] = (this.counts[i] ?? 0) + 1;
    });
  }

  samples(): readonly Sample[] {
    return [
      ...this.bounds.map((bound, i) => ({
        suffix: '_bucket',
        labels: { le: String(bound) },
        value: this.counts[i],
      })),
      { suffix: '_bucket', labels: { le: '+Inf' }, value: this.total },
      { suffix: '_sum', value: this.sum },
      { suffix: '_count', value: this.total },
    ];
  }
}
