// A kept table whose parts are written while somebody else writes to it too.
import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { FakeNft } from '../../../src/kernel/nftables/fake.js';
import type { NftRequest } from '../../../src/kernel/nftables/port.js';
import { KeptTable } from '../../../src/network/keptTable.js';
import { vxlanRules } from '../../../src/network/overlay/vxlanRules.js';

const TABLE = 'kept';
const NODES = { family: 'ip', table: TABLE, set: 'nodes' } as const;

/** Somebody else's write after each of ours, as long as there are any. */
class DisturbedNft extends FakeNft {
  readonly others: NftRequest[] = [];

  override async commit(...words: Parameters<FakeNft['commit']>): Promise<void> {
    await super.commit(...words);
    const other = this.others.shift();
    if (other !== undefined) await super.commit([other]);
  }
}

const tables: KeptTable[] = [];
afterEach(async () => {
  for (const table of tables.splice(0)) await table.stop();
});

const partOf = (family: 'IPv4' | 'IPv6', own: string, peer: string) =>
  vxlanRules({ table: TABLE, family, port: 8472, vni: 1, own, peers: [peer] });

test.each([1, 2, 3, 4])(
  'an element that goes while another part is written comes back, after %i writes of others',
  async (count) => {
    const nft = new DisturbedNft();
    const table = new KeptTable({ nft, name: TABLE, log: silentLog, lookEveryMs: 20 });
    tables.push(table);
    await table.set('IPv4', partOf('IPv4', '192.0.2.1', '192.0.2.2'));
    const [element] = await nft.elements(NODES);
    if (element === undefined) throw new Error('the part has no element');
    for (let at = 0; at < count; at++)
      nft.others.push({ do: 'delete', kind: 'element', ...NODES, type: ['ipv4_addr'], elements: [element] });
    await table.set('IPv6', partOf('IPv6', '2001:db8::1', '2001:db8::2'));
    await expect.poll(async () => [nft.others.length, (await nft.elements(NODES)).length]).toEqual([0, 1]);
  },
);
