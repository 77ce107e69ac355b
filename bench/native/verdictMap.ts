// 10,000 elements of a verdict map in one transaction, against `nft -f`.
import { openNft } from '../../src/kernel/nftables/adapter.js';
import type { NftRequest } from '../../src/kernel/nftables/port.js';
import { compare } from '../lib/compare.js';
import type { Figure } from '../lib/figure.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';

const COUNT = 10_000;

const keys = Array.from({ length: COUNT }, (_, i) => `10.96.${i >> 8}.${i & 255} . tcp . 80`);
const map = {
  family: 'ip',
  table: 'bench',
  type: ['ipv4_addr', 'inet_proto', 'inet_service'],
  mapType: ['verdict'],
} as const;
const add: NftRequest = {
  do: 'add',
  kind: 'element',
  ...map,
  set: 'services',
  elements: keys.map((key) => ({ key, verdict: 'goto service' })),
};
const text = `add element ip bench services { ${keys.map((key) => `${key} : goto service`).join(', ')} }\n`;

async function prepare(): Promise<string> {
  const netns = await benchNetNs();
  const nft = await openNft(netns);
  await nft.commit([
    { do: 'add', kind: 'table', family: 'ip', name: 'bench' },
    { do: 'add', kind: 'chain', family: 'ip', table: 'bench', name: 'service' },
    { do: 'add', kind: 'set', ...map, name: 'services' },
  ]);
  nft.close();
  return netns;
}

export async function verdictMap(): Promise<Figure[]> {
  const figure = await compare({
    name: `add ${COUNT.toLocaleString('en')} verdict-map elements`,
    runs: 7,
    atMost: 1,
    ours: {
      name: 'ours',
      prepare,
      async run(netns) {
        const nft = await openNft(netns);
        await nft.commit([add]);
        nft.close();
      },
      clean: removeNetNs,
    },
    peer: {
      name: 'nft -f',
      prepare,
      async run(netns) {
        await runTool(['nft', '-f', '-'], { netns, input: text });
      },
      clean: removeNetNs,
    },
  });
  return [figure];
}
