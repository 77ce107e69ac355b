// How long the event loop stands still while a batch of 10,000 is built, sent, done and listed back.
import { openSync, readSync } from 'node:fs';
import { openRoute } from '../../src/kernel/route/adapter.js';
import type { RouteRequest } from '../../src/kernel/route/port.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { benchNetNs, removeNetNs } from '../lib/tool.js';

const COUNT = 10_000;
const SAMPLES = 5;
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

/**
 * The longest gap between two turns of the loop while `work` runs, in milliseconds. What the thread waited for a
 * processor is not counted: that is the machine's load, not ours.
 */
async function longestGap(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let running = true;
  const now = () => performance.now() - waitedForProcessor();
  let last = now();
  const turn = () => {
    const at = now();
    longest = Math.max(longest, at - last);
    last = at;
    if (running) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  running = false;
  return longest;
}

async function sample(): Promise<{ apply: number; list: number }> {
  const netns = await benchNetNs();
  const route = await openRoute(netns);
  try {
    return {
      apply: await longestGap(() => route.apply(requests)),
      list: await longestGap(() => route.routes()),
    };
  } finally {
    route.close();
    await removeNetNs(netns);
  }
}

export async function eventLoop(): Promise<Figure[]> {
  const samples: Awaited<ReturnType<typeof sample>>[] = [];
  for (let i = 0; i <= SAMPLES; i++) samples.push(await sample());
  const counted = samples.slice(1);
  const figure = (name: string, of: (s: (typeof counted)[0]) => number) =>
    againstLimit({ name, value: Math.max(...counted.map(of)), unit: 'ms' }, LIMIT_MS);
  return [
    figure(`longest stall of the event loop, adding ${COUNT} routes`, (s) => s.apply),
    figure(`longest stall of the event loop, listing ${COUNT} routes`, (s) => s.list),
  ];
}
