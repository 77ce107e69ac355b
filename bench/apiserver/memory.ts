// Resident memory of an apiserver: empty, and with 50,000 pods after some use.
import path from 'node:path';
import { openLmdbStore } from '../../src/store/lmdb/store.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { makePlace } from './place.js';
import { PODS } from './pods.js';
import { createPods, readyApiServer } from './ready.js';
import { drive, get } from './wire.js';

const COUNT = 50_000;
const NODES = 500;
const KEY = '/registry/pods/default/';

export async function memory(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const first = await readyApiServer(place);
    const empty = first.server.residentMb();
    await createPods(first.wires, 'pod', 1);
    for (const wire of first.wires) wire.close();
    await first.server.stop();
    await multiply(path.join(place.folder, 'store'));
    const { server, wires } = await readyApiServer(place);
    const started = server.residentMb();
    await createPods(wires, 'more', 1_000);
    await drive(wires, 5_000, (i) => get(`${PODS}/pod-${i}`));
    const used = server.residentMb();
    for (const wire of wires) wire.close();
    const figure = (name: string, value: number, limit: number) =>
      againstLimit({ name: `memory, ${name}`, value, unit: 'MB' }, limit);
    return [
      figure('empty', empty, 120),
      figure('50,000 pods after start', started, 400),
      figure('50,000 pods in use', used, 400),
    ];
  } finally {
    await place.clean();
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
