// GET of one pod and LIST of 5,000, against a plain HTTPS server that sends the same bytes from a ready buffer.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { median } from '../lib/compare.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { makePlace } from './place.js';
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

    const gets = { ours: [] as number[], floor: [] as number[] };
    const one = get(`${PODS}/pod-7`);
    for (let round = 0; round <= ROUNDS; round++) {
      const ours = await drive(wires, GETS, () => one);
      const floors = await drive(floorWires, GETS, () => get('/one'));
      if (round === 0) continue;
      gets.ours.push(ours);
      gets.floor.push(floors);
    }
    const lists = { ours: [] as number[], floor: [] as number[] };
    const before = await server.memory({ collect: true });
    for (let i = 0; i <= LISTS; i++) {
      const ours = await drive(wires.slice(0, 1), 1, () => get(PODS));
      const floors = await drive(floorWires.slice(0, 1), 1, () => get('/list'));
      if (i === 0) continue;
      lists.ours.push(ours / 1000);
      lists.floor.push(floors / 1000);
    }
    const during = await server.memory();
    for (const wire of [...wires, ...floorWires]) wire.close();
    const grownMb = (during.heapUsed - before.heapUsed) / 1e6;
    const getUs = median(gets.ours);
    const listMs = median(lists.ours);
    const floorName = 'ready buffer';
    return [
      againstPeer(
        {
          name: 'GET a pod, 64 clients',
          value: getUs,
          unit: 'µs',
          peer: floorName,
          peerValue: median(gets.floor),
        },
        1 / 0.6,
      ),
      againstLimit(
        { name: `GET a pod (${Math.round(1e6 / getUs)} a second)`, value: getUs, unit: 'µs' },
        Math.round(GET_US),
      ),
      againstPeer(
        {
          name: 'LIST 5,000 pods',
          value: listMs,
          unit: 'ms',
          peer: floorName,
          peerValue: median(lists.floor),
        },
        1 / 0.5,
      ),
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

async function sizeOf([wire]: readonly Wire[], url: string): Promise<number> {
  return (await wire?.ask(get(url)))?.bytes ?? 0;
}
