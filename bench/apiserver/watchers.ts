// One change to 1,000 watchers: from the request until the last of them has it.
import { againstLimit, type Figure } from '../lib/figure.js';
import { openWires, readyApiServer } from './ready.js';
import { makePlace } from './testbed.js';
import { get, post, type Wire } from './wire.js';

const WATCHERS = 1_000;
const CHANGES = 20;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

export async function watchers(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const { server, wires } = await readyApiServer(place);
    const watching = await openWires(place, server, WATCHERS);
    let wanted = 'no such';
    let waiting = 0;
    let all = () => {};
    const seen = (piece: Buffer) => {
      if (!piece.includes(wanted)) return;
      waiting -= 1;
      if (waiting === 0) all();
    };
    for (const wire of watching) wire.stream(get(`${CONFIG_MAPS}?watch=1&timeoutSeconds=600`), seen);
    const change = async (i: number) => {
      wanted = `"name":"change-${i}"`;
      waiting = WATCHERS;
      const told = new Promise<void>((resolve) => {
        all = resolve;
      });
      const start = performance.now();
      const created = (wires[0] as Wire).ask(post(CONFIG_MAPS, configMap(`change-${i}`)));
      await told;
      const ms = performance.now() - start;
      await created;
      return ms;
    };
    // The first only comes when every watch is up.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await change(0);
    const times: number[] = [];
    for (let i = 1; i <= CHANGES; i++) times.push(await change(i));
    for (const wire of [...wires, ...watching]) wire.close();
    return [againstLimit({ name: 'one change to 1,000 watchers', samples: times, unit: 'ms' }, 60)];
  } finally {
    await place.clean();
  }
}

function configMap(name: string): Buffer {
  return Buffer.from(
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: { key: 'x'.repeat(500) },
    }),
  );
}
