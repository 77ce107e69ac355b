// Resident memory of an apiserver: empty, and with 50,000 pods after its start and after some use.
// Guarantees: every run is a fresh process; pods are as the server wrote them, on many nodes.
import path from 'node:path';
import { openLmdbStore } from '../../src/store/lmdb/store.js';
import { repeated } from '../lib/compare.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { PODS } from './pods.js';
import { createPods, type ReadyServer, readyApiServer } from './ready.js';
import { makePlace, type Place } from './testbed.js';
import { drive, get } from './wire.js';

const RUNS = 3;
const COUNT = 50_000;
const NODES = 500;
const KEY = '/registry/pods/default/';

export async function memory(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const empty = await repeated(runsOf(RUNS), () =>
      inServer(place, async ({ server }) => server.residentMb()),
    );
    await inServer(place, ({ wires }) => createPods(wires, 'pod', 1));
    await multiply(path.join(place.folder, 'store'));
    let run = 0;
    const full = await repeated(runsOf(RUNS), () =>
      inServer(place, async ({ server, wires }) => {
        const started = server.residentMb();
        await createPods(wires, `more-${run++}`, 1_000);
        await drive(wires, 5_000, (i) => get(`${PODS}/pod-${i}`));
        return { started, used: server.residentMb() };
      }),
    );
    const figure = (name: string, samples: number[], limit: number) =>
      againstLimit({ name: `memory, ${name}`, samples, unit: 'MB' }, limit);
    return [
      figure('empty', empty, 120),
      figure(
        '50,000 pods, right after the start',
        full.map(({ started }) => started),
        400,
      ),
      figure(
        '50,000 pods, in use',
        full.map(({ used }) => used),
        400,
      ),
    ];
  } finally {
    await place.clean();
  }
}

async function inServer<T>(place: Place, look: (ready: ReadyServer) => Promise<T>): Promise<T> {
  const ready = await readyApiServer(place);
  try {
    return await look(ready);
  } finally {
    for (const wire of ready.wires) wire.close();
    await ready.server.stop();
  }
}

/** The one pod, under many names and on many nodes: the server would take minutes to make them one by one. */
async function multiply(folder: string): Promise<void> {
  const store = await openLmdbStore({ path: folder });
  const one = String((await store.get(`${KEY}pod-0`))?.value);
  for (let made = 1; made < COUNT; made += 500) {
    const names = Array.from({ length: Math.min(500, COUNT - made) }, (_, i) => `pod-${made + i}`);
    const placed = (name: string, i: number) =>
      Buffer.from(
        one
          .replaceAll('"name":"pod-0"', `"name":"${name}"`)
          .replace('"spec":{', `"spec":{"nodeName":"node-${i % NODES}",`),
      );
    await Promise.all(names.map((name, i) => store.create(`${KEY}${name}`, placed(name, made + i))));
  }
  await store.close();
}
