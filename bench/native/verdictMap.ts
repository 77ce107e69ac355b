// 10,000 elements of a verdict map in one transaction, against `nft -f`.
import { openNft } from '../../src/kernel/nftables/adapter.js';
import type { NftRequest } from '../../src/kernel/nftables/port.js';
import type { Figure } from '../lib/figure.js';
import { againstTool, using } from './againstTool.js';

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

export async function verdictMap(): Promise<Figure[]> {
  const figure = await againstTool({
    name: `add ${COUNT.toLocaleString('en')} verdict-map elements`,
    runs: 7,
    prepare: (netns) =>
      using(openNft(netns), (nft) =>
        nft.commit([
          { do: 'add', kind: 'table', family: 'ip', name: 'bench' },
          { do: 'add', kind: 'chain', family: 'ip', table: 'bench', name: 'service' },
          { do: 'add', kind: 'set', ...map, name: 'services' },
        ]),
      ),
    run: (netns) => using(openNft(netns), (nft) => nft.commit([add])),
    tool: { name: 'nft -f', command: ['nft', '-f', '-'], input: text },
  });
  return [figure];
}
