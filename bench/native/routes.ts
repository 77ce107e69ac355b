// 10,000 routes in one batch, against `ip -batch`.
import { openRoute } from '../../src/kernel/route/adapter.js';
import type { RouteRequest } from '../../src/kernel/route/port.js';
import { compare } from '../lib/compare.js';
import type { Figure } from '../lib/figure.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';

const COUNT = 10_000;

const destinations = Array.from({ length: COUNT }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
const requests = destinations.map(
  (destination): RouteRequest => ({ do: 'add', kind: 'route', destination, gateway: '172.16.0.2' }),
);
const lines = destinations.map((destination) => `route add ${destination} via 172.16.0.2\n`).join('');

/** A namespace whose routes have somewhere to go. */
async function prepare(): Promise<string> {
  const netns = await benchNetNs();
  const route = await openRoute(netns);
  await route.apply([
    { do: 'add', kind: 'link', name: 'eth0', peer: { name: 'eth1' } },
    { do: 'change', kind: 'link', name: 'eth1', up: true },
    { do: 'change', kind: 'link', name: 'eth0', up: true },
    { do: 'add', kind: 'address', dev: 'eth0', address: '172.16.0.1/24' },
  ]);
  route.close();
  return netns;
}

export async function routes(): Promise<Figure[]> {
  const figure = await compare({
    name: `add ${COUNT.toLocaleString('en')} routes`,
    runs: 5,
    atMost: 1,
    ours: {
      name: 'ours',
      prepare,
      async run(netns) {
        const route = await openRoute(netns);
        await route.apply(requests);
        route.close();
      },
      clean: removeNetNs,
    },
    peer: {
      name: 'ip -batch',
      prepare,
      async run(netns) {
        await runTool(['ip', '-batch', '-'], { netns, input: lines });
      },
      clean: removeNetNs,
    },
  });
  return [figure];
}
