// 10,000 entries of a set in one request, against `ipset restore`.
import { openIpset } from '../../src/kernel/ipset/adapter.js';
import type { Figure } from '../lib/figure.js';
import { againstTool, using } from './againstTool.js';

const COUNT = 10_000;

const entries = Array.from({ length: COUNT }, (_, i) => `10.0.${i >> 8}.${i & 255},tcp:${1 + i}`);
const lines = entries.map((entry) => `add service ${entry}\n`).join('');

export async function ipset(): Promise<Figure[]> {
  const figure = await againstTool({
    name: `add ${COUNT.toLocaleString('en')} ipset entries`,
    runs: 9,
    prepare: (netns) =>
      using(openIpset(netns), (port) =>
        port.apply([{ do: 'add', kind: 'set', name: 'service', type: 'hash:ip,port' }]),
      ),
    run: (netns) =>
      using(openIpset(netns), (port) => port.apply([{ do: 'add', kind: 'entry', set: 'service', entries }])),
    tool: { name: 'ipset restore', command: ['ipset', 'restore'], input: lines },
  });
  return [figure];
}
