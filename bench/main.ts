// `npm run bench`: runs benchmarks by name and reports them as a table, as JSON, and into the pages.
// Guarantees: ends with 1 when a goal was missed, unless that was asked not to count; --help lists every benchmark.
import { writeFileSync } from 'node:fs';
import { projectRoot } from '../src/kernel/projectRoot.js';
import { BENCHMARKS, type Benchmark } from './groups.js';
import { type Asked, parseCommandLine, selected, UsageError, usage } from './lib/commandLine.js';
import type { Figure } from './lib/figure.js';
import { machineLine, today } from './lib/machine.js';
import { writeBlock } from './lib/pages.js';
import { markdownFigures, renderFigures } from './lib/table.js';

const known = BENCHMARKS.map(({ name }) => name);

function asked(): Asked {
  try {
    const wanted = parseCommandLine(process.argv.slice(2), known);
    if (wanted !== undefined) return wanted;
    console.log(usage(known));
    process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(`${error.message}\nnpm run bench -- --help shows what there is.`);
    process.exit(2);
  }
}

async function measure(chosen: readonly Benchmark[]): Promise<Map<string, Figure[]>> {
  const figures = new Map<string, Figure[]>();
  for (const { group, name, run } of chosen) {
    const start = performance.now();
    process.stderr.write(`${name} ...\n`);
    figures.set(group, [...(figures.get(group) ?? []), ...(await run())]);
    process.stderr.write(`${name} done in ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
  }
  return figures;
}

/** Tables of groups that ran whole; one of which a part ran would lose rows. */
function writeTables(figures: ReadonlyMap<string, readonly Figure[]>, chosen: readonly Benchmark[]): void {
  for (const [group, rows] of figures) {
    const isWhole = BENCHMARKS.every((one) => one.group !== group || chosen.includes(one));
    if (!isWhole) continue;
    const file = writeBlock(
      projectRoot(),
      group,
      `${machineLine()}; ${today()}.\n\n${markdownFigures(rows)}`,
    );
    console.log(`the table of ${group} is in ${file}`);
  }
}

const { names, json, runs, scale, docs, fail } = asked();
if (runs !== undefined) process.env['TRELLIS_BENCH_RUNS'] = runs;
if (scale !== undefined) process.env['TRELLIS_BENCH_SCALE'] = scale;
if (docs) process.env['TRELLIS_BENCH_DOCS'] = '1';
const meant = new Set(selected(names, known));
const chosen = BENCHMARKS.filter(({ name }) => meant.has(name));
const byGroup = await measure(chosen);
const figures = [...byGroup.values()].flat();

console.log(renderFigures(figures));
const goals = figures.filter(({ goal }) => goal !== '');
const missed = goals.filter(({ met }) => !met);
console.log(
  missed.length === 0
    ? `all ${goals.length} goals met`
    : `${missed.length} of ${goals.length} goals not met: ${missed.map(({ name }) => name).join('; ')}`,
);
if (json !== undefined) writeFileSync(json, `${JSON.stringify(figures, null, 2)}\n`);
if (docs) writeTables(byGroup, chosen);
process.exit(fail && missed.length > 0 ? 1 : 0);
