// 10,000 entries of a set in one request, against `ipset restore`.
import { openIpset } from '../../src/kernel/ipset/adapter.js';
import { compare } from '../lib/compare.js';
import type { Figure } from '../lib/figure.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';

const COUNT = 10_000;

const entries = Array.from({ length: COUNT }, (_, i) => `10.0.${i >> 8}.${i & 255},tcp:${1 + i}`);
const lines = entries.map((entry) => `add service ${entry}\n`).join('');

async function prepare(): Promise<string> {
  const netns = await benchNetNs();
  const port = await openIpset(netns);
  await port.apply([{ do: 'add', kind: 'set', name: 'service', type: 'hash:ip,port' }]);
  port.close();
  return netns;
}

export async function ipset(): Promise<Figure[]> {
  const figure = await compare({
    name: `add ${COUNT.toLocaleString('en')} ipset entries`,
    runs: 9,
    atMost: 1,
    ours: {
      name: 'ours',
      prepare,
      async run(netns) {
        const port = await openIpset(netns);
        await port.apply([{ do: 'add', kind: 'entry', set: 'service', entries }]);
        port.close();
      },
      clean: removeNetNs,
    },
    peer: {
      name: 'ipset restore',
      prepare,
      async run(netns) {
        await runTool(['ipset', 'restore'], { netns, input: lines });
      },
      clean: removeNetNs,
    },
  });
  return [figure];
}
