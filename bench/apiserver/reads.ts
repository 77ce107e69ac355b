// GET of one pod and LIST of 5,000, against a plain HTTPS server that sends the same bytes from a ready buffer.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { inTurns } from '../lib/compare.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { MB } from '../lib/process.js';
import { median, round } from '../lib/samples.js';
import { PODS } from './pods.js';
import { createPods, openWires, readyApiServer } from './ready.js';
import { makePlace, type ServerProcess } from './testbed.js';
import { drive, get, type Wire } from './wire.js';

const PODS_IN_LIST = 5_000;
const GETS = 8_000;
const LISTS = 10;
const RUNS = 5;
const GET_US = 201;
const LIST_MS = 68;

export async function reads(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const { server, wires } = await readyApiServer(place);
    await createPods(wires, 'pod', PODS_IN_LIST);
    const sizes = { one: await sizeOf(wires, `${PODS}/pod-7`), list: await sizeOf(wires, PODS) };
    for (const [name, size] of Object.entries(sizes))
      writeFileSync(path.join(place.folder, `${name}.json`), Buffer.alloc(size, 'x'));
    const floor = await place.start('floor');
    const floorWires = await openWires(place, floor, wires.length);

    const one = get(`${PODS}/pod-7`);
    const gets = await inTurns(
      runsOf(RUNS),
      () => costOf(server, wires, GETS, one),
      () => costOf(floor, floorWires, GETS, get('/one')),
    );
    const before = await server.memory({ collect: true });
    const lists = await inTurns(
      LISTS,
      () => costOf(server, wires.slice(0, 1), 1, get(PODS)),
      () => costOf(floor, floorWires.slice(0, 1), 1, get('/list')),
    );
    const during = await server.memory();
    for (const wire of [...wires, ...floorWires]) wire.close();
    const grownMb = (during.heapUsed - before.heapUsed) / MB;
    const getUs = gets[0].map(({ us }) => us);
    const listMs = lists[0].map(({ us }) => us / 1000);
    return [
      besideFloor({ name: 'GET a pod, 64 clients', unit: 'µs', atMost: 1 / 0.6 }, gets),
      againstLimit(
        { name: 'GET a pod', note: `${round(1e6 / median(getUs))} a second`, samples: getUs, unit: 'µs' },
        GET_US,
      ),
      besideFloor({ name: 'LIST 5,000 pods', unit: 'ms', atMost: 1 / 0.5 }, lists),
      againstLimit(
        { name: 'LIST 5,000 pods', note: `${round(sizes.list / MB)} MB`, samples: listMs, unit: 'ms' },
        LIST_MS,
      ),
      againstLimit({ name: `heap grown by ${LISTS} such lists`, samples: [grownMb], unit: 'MB' }, 20),
    ];
  } finally {
    await place.clean();
  }
}

/** Of one request: time until the next, and processor time of the server. */
interface Cost {
  readonly us: number;
  readonly cpuUs: number;
}

async function costOf(
  server: ServerProcess,
  wires: readonly Wire[],
  count: number,
  request: Buffer,
): Promise<Cost> {
  const before = server.cpuSeconds();
  const us = await drive(wires, count, () => request);
  return { us, cpuUs: ((server.cpuSeconds() - before) * 1e6) / count };
}

/** By the clock; the note tells the processor time, which is sound while others use the machine too. */
function besideFloor(
  { name, unit, atMost }: { readonly name: string; readonly unit: 'µs' | 'ms'; readonly atMost: number },
  [ours, floor]: readonly [readonly Cost[], readonly Cost[]],
): Figure {
  const scale = unit === 'ms' ? 1000 : 1;
  const clock = (costs: readonly Cost[]) => costs.map(({ us }) => us / scale);
  // The kernel counts in hundredths of a second: only the sum of many requests says something.
  const cpu = (costs: readonly Cost[]) =>
    round(costs.reduce((sum, { cpuUs }) => sum + cpuUs, 0) / costs.length / scale);
  const note = `CPU of the server ${cpu(ours)} ${unit}, of the peer ${cpu(floor)}`;
  const peer = { peer: 'a ready buffer', peerSamples: clock(floor) };
  return againstPeer({ name, note, unit, samples: clock(ours), ...peer }, atMost);
}

async function sizeOf([wire]: readonly Wire[], url: string): Promise<number> {
  return (await wire?.ask(get(url)))?.bytes ?? 0;
}
