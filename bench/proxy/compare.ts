// The comparison of modes on the kernel this process runs on; rows as they come.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';
import type { Contender, Row } from './measure.js';

/** `TRELLIS_BENCH_SIZES=100,1000` takes the place of the usual sizes. */
const wanted = (process.env['TRELLIS_BENCH_SIZES'] ?? '')
  .split(',')
  .map(Number)
  .filter((size) => size > 0);

/** How far a contender goes: further than it usually does only if that was asked for. */
const limitOf = ({ upTo, usuallyUpTo }: Contender) =>
  Math.min(
    upTo ?? Number.POSITIVE_INFINITY,
    (wanted.length > 0 ? undefined : usuallyUpTo) ?? Number.POSITIVE_INFINITY,
  );

const ONE = join(dirname(fileURLToPath(import.meta.url)), 'one.js');

/** Each contender at each size that it can, one after the other; one that fails is told and left out. */
export async function compareModes(
  contenders: readonly Contender[],
  usual: readonly number[],
  connections: number,
): Promise<Row[]> {
  const sizes = wanted.length > 0 ? wanted : usual;
  const jobs = sizes.flatMap((services) =>
    contenders.flatMap((contender) => (services > limitOf(contender) ? [] : [{ services, contender }])),
  );
  const rows: Row[] = [];
  for (const [done, { services, contender }] of jobs.entries()) {
    showProgress(done, jobs.length, `${contender.label}, ${services} services`);
    try {
      const argv = [ONE, JSON.stringify(contender), String(services), String(connections)];
      rows.push(
        JSON.parse(
          await (contender.mode === 'userspace' ? runInside(argv) : runTool([process.execPath, ...argv])),
        ) as Row,
      );
    } catch (error) {
      process.stderr.write(
        `\n  ${contender.label} with ${services} services failed: ${String(error).slice(0, 500)}\n`,
      );
    }
  }
  showProgress(jobs.length, jobs.length, 'done');
  if (rows.length === 0) throw new Error('no mode could be measured');
  return rows;
}

/** The userspace mode's sockets are where its process is: that runs in the node's namespace. */
async function runInside(argv: readonly string[]): Promise<string> {
  const node = await benchNetNs();
  try {
    return await runTool([process.execPath, ...argv, node], { netns: node });
  } finally {
    await removeNetNs(node);
  }
}

const BAR = 20;

/** One line that is drawn anew; a line each where nobody can see it move. */
function showProgress(done: number, all: number, what: string): void {
  const full = Math.round((BAR * done) / all);
  const bar = `  [${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${done} of ${all}: ${what}`;
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${bar}${done === all ? '\n' : ''}`);
  else process.stderr.write(`${bar}\n`);
}
