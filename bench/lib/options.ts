// What the command line asks of every benchmark, also of those that run in another process or machine.
// Guarantees: handed on by the environment, so that a child measures what its parent was asked for.

/** How many runs a figure is made of: what was asked for with --runs, or what the benchmark thinks enough. */
export function runsOf(usual: number): number {
  return positive(process.env['TRELLIS_BENCH_RUNS']) ?? usual;
}

/** The share of nodes and pods that was asked for with --scale, for a quick look at the large benchmarks. */
export function scaled(count: number): number {
  return Math.max(1, Math.round(count * (positive(process.env['TRELLIS_BENCH_SCALE']) ?? 1)));
}

function positive(text = ''): number | undefined {
  const number = Number(text);
  return number > 0 ? number : undefined;
}
