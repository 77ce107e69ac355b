// Resident memory of an apiserver: empty, and with 50,000 pods.
import { againstLimit, type Figure } from '../lib/figure.js';
import { makePlace } from './place.js';
import { createPods, readyApiServer } from './ready.js';

const PODS = 50_000;

export async function memory(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const { server, wires } = await readyApiServer(place);
    const empty = server.residentMb();
    await createPods(wires, 'pod', PODS);
    const afterCreates = server.residentMb();
    for (const wire of wires) wire.close();
    await server.stop();
    const again = await readyApiServer(place);
    const afterStart = again.server.residentMb();
    for (const wire of again.wires) wire.close();
    const figure = (name: string, value: number, limit: number) =>
      againstLimit({ name: `memory, ${name}`, value, unit: 'MB' }, limit);
    return [
      figure('empty', empty, 120),
      figure('50,000 pods just created', afterCreates, 400),
      figure('50,000 pods after a restart', afterStart, 400),
    ];
  } finally {
    await place.clean();
  }
}
