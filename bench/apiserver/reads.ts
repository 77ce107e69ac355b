// GET of one pod and LIST of 5,000, against a plain HTTPS server that sends the same bytes from a ready buffer.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { median } from '../lib/compare.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { makePlace, type ServerProcess } from './place.js';
import { PODS } from './pods.js';
import { createPods, openWires, readyApiServer } from './ready.js';
import { drive, get, type Wire } from './wire.js';

const PODS_IN_LIST = 5_000;
const GETS = 8_000;
const LISTS = 10;
const ROUNDS = 3;
/** Of kube-apiserver: 1,660 GETs a second, 271 ms for the list. */
const GET_US = 1e6 / (3 * 1_660);
const LIST_MS = 271 / 4;

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
    const gets = { ours: [] as Cost[], floor: [] as Cost[] };
    for (let round = 0; round <= ROUNDS; round++) {
      const ours = await costOf(server, wires, GETS, one);
      const floors = await costOf(floor, floorWires, GETS, get('/one'));
      if (round === 0) continue;
      gets.ours.push(ours);
      gets.floor.push(floors);
    }
    const lists = { ours: [] as Cost[], floor: [] as Cost[] };
    const before = await server.memory({ collect: true });
    for (let i = 0; i <= LISTS; i++) {
      const ours = await costOf(server, wires.slice(0, 1), 1, get(PODS));
      const floors = await costOf(floor, floorWires.slice(0, 1), 1, get('/list'));
      if (i === 0) continue;
      lists.ours.push(ours);
      lists.floor.push(floors);
    }
    const during = await server.memory();
    for (const wire of [...wires, ...floorWires]) wire.close();
    const grownMb = (during.heapUsed - before.heapUsed) / 1e6;
    const getUs = median(gets.ours.map(({ us }) => us));
    const listMs = median(lists.ours.map(({ us }) => us)) / 1000;
    return [
      besideFloor({ name: 'GET a pod, 64 clients', unit: 'µs', atMost: 1 / 0.6 }, gets),
      againstLimit(
        { name: `GET a pod (${Math.round(1e6 / getUs)} a second)`, value: getUs, unit: 'µs' },
        Math.round(GET_US),
      ),
      besideFloor({ name: 'LIST 5,000 pods', unit: 'ms', atMost: 1 / 0.5 }, lists),
      againstLimit(
        { name: `LIST 5,000 pods (${(sizes.list / 1e6).toFixed(1)} MB)`, value: listMs, unit: 'ms' },
        Math.round(LIST_MS),
      ),
      againstLimit({ name: 'heap grown by ten such lists', value: grownMb, unit: 'MB' }, 20),
    ];
  } finally {
    await place.clean();
  }
}

/** Of one request: time until the next, and processor time of the server. */
interface Cost {
  readonly us: number;
  readonly processorUs: number;
}

async function costOf(
  server: ServerProcess,
  wires: readonly Wire[],
  count: number,
  request: Buffer,
): Promise<Cost> {
  const before = server.processorUs();
  const us = await drive(wires, count, () => request);
  return { us, processorUs: (server.processorUs() - before) / count };
}

/** By the clock; its name also tells the processor time, which is sound while others use the machine too. */
function besideFloor(
  { name, unit, atMost }: { readonly name: string; readonly unit: 'µs' | 'ms'; readonly atMost: number },
  { ours, floor }: Record<'ours' | 'floor', readonly Cost[]>,
): Figure {
  const scale = unit === 'ms' ? 1000 : 1;
  const clock = (costs: readonly Cost[]) => median(costs.map(({ us }) => us)) / scale;
  // The kernel counts in hundredths of a second: only the sum of many requests says something.
  const processor = (costs: readonly Cost[]) =>
    (costs.reduce((sum, { processorUs }) => sum + processorUs, 0) / costs.length / scale).toPrecision(3);
  const cpu = `CPU: ${processor(ours)} ${unit}, the peer's ${processor(floor)}`;
  const figure = { name: `${name} (${cpu})`, value: clock(ours), unit };
  return againstPeer({ ...figure, peer: 'ready buffer', peerValue: clock(floor) }, atMost);
}

async function sizeOf([wire]: readonly Wire[], url: string): Promise<number> {
  return (await wire?.ask(get(url)))?.bytes ?? 0;
}
