// The comparison of modes on the kernel this process runs on.
// Guarantees: contenders take turns; one round of each is thrown away first, which loads the kernel's modules, and a run
// during which one was loaded all the same does not count.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runsOf } from '../lib/options.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';
import type { Contender, Row, Run } from './measure.js';
import { showProgress } from './progress.js';

/** `TRELLIS_BENCH_SIZES=100,1000` takes the place of the usual sizes. */
const wanted = (process.env['TRELLIS_BENCH_SIZES'] ?? '')
  .split(',')
  .map(Number)
  .filter((size) => size > 0);

const MODE_PROCESS = join(dirname(fileURLToPath(import.meta.url)), 'modeProcess.js');
const RUNS = 3;
/** How often a run is made again that had a module loaded under its clock. */
const REPEATS = 3;

interface Job {
  readonly contender: Contender;
  readonly services: number;
  readonly runs: Run[];
  failed?: boolean;
}

/** Each contender at each size that it can; one that fails is told and left out. */
export async function compareModes(
  contenders: readonly Contender[],
  usual: readonly number[],
  connections: number,
): Promise<Row[]> {
  const sizes = wanted.length > 0 ? wanted : usual;
  const jobs = sizes.flatMap((services) =>
    contenders.flatMap((contender): Job[] =>
      services > (contender.upTo ?? services) ? [] : [{ services, contender, runs: [] }],
    ),
  );
  const turns = [...warmUp(jobs), ...inTurn(jobs, runsOf(RUNS))];
  for (const [done, { job, counts }] of turns.entries()) {
    showProgress(done, turns.length, `${job.contender.label}, ${job.services} services`);
    await take(job, counts, connections);
  }
  showProgress(turns.length, turns.length, 'done');
  const rows = jobs
    .filter(({ failed }) => failed !== true)
    .map(({ contender, services, runs }) => ({ label: contender.label, services, runs }));
  if (rows.length === 0) throw new Error('no mode could be measured');
  return rows;
}

interface Turn {
  readonly job: Job;
  readonly counts: boolean;
}

/** Every contender once, at the smallest size it has. */
function warmUp(jobs: readonly Job[]): Turn[] {
  const first = new Map(jobs.toReversed().map((job) => [job.contender.label, job]));
  return [...first.values()].reverse().map((job) => ({ job, counts: false }));
}

/** Size by size; within one, round by round, and each round begins with another contender. */
function inTurn(jobs: readonly Job[], runs: number): Turn[] {
  const sizes = [...new Set(jobs.map(({ services }) => services))];
  return sizes.flatMap((size) => {
    const own = jobs.filter(({ services }) => services === size);
    return Array.from({ length: runs }, (_, round) => [
      ...own.slice(round % own.length),
      ...own.slice(0, round % own.length),
    ])
      .flat()
      .map((job) => ({ job, counts: true }));
  });
}

async function take(job: Job, counts: boolean, connections: number): Promise<void> {
  if (job.failed === true) return;
  const { contender, services } = job;
  const argv = [MODE_PROCESS, JSON.stringify(contender), String(services), String(connections)];
  try {
    for (let attempt = 0; attempt < REPEATS; attempt++) {
      const before = loadedModules();
      const run = JSON.parse(await runInside(argv)) as Run;
      if (!counts) return;
      if (before !== loadedModules()) continue;
      job.runs.push(run);
      return;
    }
    throw new Error('modules of the kernel were loaded in every run');
  } catch (error) {
    job.failed = true;
    const what = `${contender.label} with ${services} services`;
    process.stderr.write(`\n  ${what} failed: ${String(error).slice(0, 500)}\n`);
  }
}

const MODULES = '/proc/modules';

function loadedModules(): string {
  if (!existsSync(MODULES)) return '';
  const names = readFileSync(MODULES, 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[0]);
  return names.sort().join(' ');
}

/** As a proxy runs: in the namespace of its node. */
async function runInside(argv: readonly string[]): Promise<string> {
  const node = await benchNetNs();
  try {
    return await runTool([process.execPath, ...argv, node], { netns: node });
  } finally {
    await removeNetNs(node);
  }
}
