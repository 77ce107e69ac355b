// What several runs of one measurement say together. Pure.
// Guarantees: the median counts and the spread is told; no run is left out.

export interface Summary {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly runs: number;
}

export function summarize(samples: readonly number[]): Summary {
  if (samples.length === 0) throw new RangeError('nothing was measured');
  return {
    median: median(samples),
    least: Math.min(...samples),
    most: Math.max(...samples),
    runs: samples.length,
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Three digits tell enough: 1,863; 270; 20.7; 0.318. */
export function round(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}

/** Such as "270 (251–298)"; a single run has no spread. */
export function withSpread({ median: middle, least, most, runs }: Summary, unit = ''): string {
  const value = `${round(middle)}${unit === '' ? '' : ` ${unit}`}`;
  return runs === 1 ? value : `${value} (${round(least)}–${round(most)})`;
}
