// The command line of the fuzzer, how its time is shared, what its output tells, and the table it ends in. Pure.
// Guarantees: every target gets at least MIN_SECONDS, so that a short run still tries each of them.

import { parseArgs } from 'node:util';

const MIN_SECONDS = 5;
const DEFAULT_SECONDS = 60;

export const fuzzUsage = (known) => `usage: npm run fuzz -- [--seconds N] [target ...]

Fuzzes the native core: the named targets, without a name all. Inputs that failed before are tried first.

  --seconds N   how long altogether (default ${DEFAULT_SECONDS}), shared among the targets, at least ${MIN_SECONDS} s each
  --help        this text

Targets: ${known.join(', ')}
`;

/** `{ help, refusal, total, targets }`; a refusal says what is wrong with the arguments. */
export function parseFuzzArguments(args, known) {
  const options = {
    seconds: { type: 'string', default: String(DEFAULT_SECONDS) },
    help: { type: 'boolean', short: 'h' },
  };
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const unknown = positionals.filter((name) => !known.includes(name));
    const total = Number(values.seconds);
    if (values.help) return { help: true };
    if (unknown.length > 0) return { refusal: `no target is called ${unknown.join(', ')}` };
    if (!(total > 0)) return { refusal: '--seconds must be a number above 0' };
    return { total, targets: positionals.length > 0 ? positionals : known };
  } catch (error) {
    return { refusal: error.message };
  }
}

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
