// How long the event loop stands still while a batch of 10,000 is built, sent, done and listed back.
import { openSync, readSync } from 'node:fs';
import { openRoute } from '../../src/kernel/route/adapter.js';
import type { RouteRequest } from '../../src/kernel/route/port.js';
import { type Figure, worstAgainstLimit } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { benchNetNs, removeNetNs } from '../lib/tool.js';

const COUNT = 10_000;
const RUNS = 8;
/** Rounds in which a young process's heap still grows, by collections that a daemon has long behind it. */
const WARM_UP = 3;
const LIMIT_MS = 5;

const requests = Array.from(
  { length: COUNT },
  (_, i): RouteRequest => ({
    do: 'add',
    kind: 'route',
    destination: `10.${i >> 8}.${i & 255}.0/24`,
    type: 'blackhole',
  }),
);

const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
const buffer = Buffer.alloc(128);

/** How long the main thread has waited for a processor that others had, in milliseconds. */
function waitedForProcessor(): number {
  const size = readSync(schedstat, buffer, 0, buffer.length, 0);
  return Number(buffer.toString('latin1', 0, size).split(' ')[1]) / 1e6;
}

/** How often the loop is looked at. A loop that spins instead would itself compete with the work for processors. */
const TICK_MS = 1;

/**
 * How late the loop came to its timer at the worst while `work` ran, in milliseconds. What the thread waited for a
 * processor is not counted: that is the machine's load, not ours.
 */
async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  const now = () => performance.now() - waitedForProcessor();
  let last = now();
  const timer = setInterval(() => {
    const at = now();
    longest = Math.max(longest, at - last - TICK_MS);
    last = at;
  }, TICK_MS);
  await work();
  clearInterval(timer);
  return longest;
}

async function sample(): Promise<{ apply: number; list: number }> {
  const netns = await benchNetNs();
  const route = await openRoute(netns);
  try {
    return {
      apply: await longestStall(() => route.apply(requests)),
      list: await longestStall(() => route.routes()),
    };
  } finally {
    route.close();
    await removeNetNs(netns);
  }
}

export async function eventLoop(): Promise<Figure[]> {
  const samples: Awaited<ReturnType<typeof sample>>[] = [];
  for (let i = 0; i < WARM_UP + runsOf(RUNS); i++) samples.push(await sample());
  const counted = samples.slice(WARM_UP);
  const figure = (name: string, of: (s: (typeof counted)[0]) => number) =>
    worstAgainstLimit({ name, samples: counted.map(of), unit: 'ms' }, LIMIT_MS);
  return [
    figure(`longest stall of the event loop, adding ${COUNT.toLocaleString('en')} routes`, (s) => s.apply),
    figure(`longest stall of the event loop, listing ${COUNT.toLocaleString('en')} routes`, (s) => s.list),
  ];
}
