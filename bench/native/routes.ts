// 10,000 routes in one batch, against `ip -batch`.
import { openRoute } from '../../src/kernel/route/adapter.js';
import type { RouteRequest } from '../../src/kernel/route/port.js';
import type { Figure } from '../lib/figure.js';
import { againstTool, using } from './againstTool.js';

const COUNT = 10_000;

const destinations = Array.from({ length: COUNT }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
const requests = destinations.map(
  (destination): RouteRequest => ({ do: 'add', kind: 'route', destination, gateway: '172.16.0.2' }),
);
const lines = destinations.map((destination) => `route add ${destination} via 172.16.0.2\n`).join('');

export async function routes(): Promise<Figure[]> {
  const figure = await againstTool({
    name: `add ${COUNT.toLocaleString('en')} routes`,
    runs: 5,
    // The routes need somewhere to go.
    prepare: (netns) =>
      using(openRoute(netns), (route) =>
        route.apply([
          { do: 'add', kind: 'link', name: 'eth0', peer: { name: 'eth1' } },
          { do: 'change', kind: 'link', name: 'eth1', up: true },
          { do: 'change', kind: 'link', name: 'eth0', up: true },
          { do: 'add', kind: 'address', dev: 'eth0', address: '172.16.0.1/24' },
        ]),
      ),
    run: (netns) => using(openRoute(netns), (route) => route.apply(requests)),
    tool: { name: 'ip -batch', command: ['ip', '-batch', '-'], input: lines },
  });
  return [figure];
}
