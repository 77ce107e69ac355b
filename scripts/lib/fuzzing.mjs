// How fuzzing time is shared, what a fuzzer's output tells, and the table it ends in. Pure.
// Guarantees: every target gets at least MIN_SECONDS, so that a short run still tries each of them.

export const MIN_SECONDS = 5;

/** Seconds for each target, when `atOnce` of them run side by side for `total` seconds. */
export function secondsEach({ total, targets, atOnce }) {
  return Math.max(MIN_SECONDS, Math.floor(total / Math.ceil(targets / atOnce)));
}

/** Runs and covered edges from what libFuzzer printed; 0 where it printed none. */
export function readStatistics(output) {
  const runs = output.match(/stat::number_of_executed_units:\s+(\d+)/)?.[1];
  const coverage = [...output.matchAll(/\bcov: (\d+)/g)].at(-1)?.[1];
  return { runs: Number(runs ?? 0), coverage: Number(coverage ?? 0) };
}

/** A line for each target. */
export function table(results) {
  const rows = [
    ['target', 'runs', 'coverage', 'result'],
    ...results.map(({ name, runs, coverage, failure }) => [
      name,
      String(runs),
      String(coverage),
      failure === undefined ? 'clean' : `FOUND ${failure}`,
    ]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map(
      ([name, runs, coverage, result]) =>
        `  ${name.padEnd(widths[0])}  ${runs.padStart(widths[1])}  ${coverage.padStart(widths[2])}  ${result}`,
    )
    .join('\n');
}
