// Neighbours and forwarding databases made by the core are read back with `ip -j neigh` and `bridge -j fdb`.
// Guarantees: compared in both directions, IPv4, IPv6, bridge ports and VXLAN remotes.
import { expect, test } from 'vitest';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import type { NeighbourFields } from '../../../src/kernel/route/objects.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const MAC = '02:00:00:00:00:09';

const NEIGHBOURS: { name: string; fields: NeighbourFields; words: string; shown: object }[] = [
  {
    name: 'permanent IPv4',
    fields: { address: '10.0.0.9', mac: MAC, state: 'permanent' },
    words: `10.0.0.9 lladdr ${MAC} nud permanent`,
    shown: { dst: '10.0.0.9', lladdr: MAC, state: ['PERMANENT'] },
  },
  {
    name: 'no-ARP IPv4 learnt elsewhere',
    fields: { address: '10.0.0.9', mac: MAC, state: 'noarp', flags: ['extern_learn'] },
    words: `10.0.0.9 lladdr ${MAC} nud noarp extern_learn`,
    shown: { dst: '10.0.0.9', lladdr: MAC, state: ['NOARP'], extern_learn: null },
  },
  {
    name: 'IPv6 router',
    fields: { address: 'fd00::9', mac: MAC, state: 'permanent', flags: ['router'] },
    words: `fd00::9 lladdr ${MAC} nud permanent router`,
    shown: { dst: 'fd00::9', lladdr: MAC, state: ['PERMANENT'], router: null },
  },
];

const ENTRIES: { name: string; dev: string; fields: NeighbourFields; words: string; shown: object }[] = [
  {
    name: 'a static entry of a bridge port',
    dev: 'port',
    fields: { mac: MAC, flags: ['master'], state: 'noarp' },
    words: 'master static',
    shown: { mac: MAC, master: 'br0', state: 'static' },
  },
  {
    name: 'an IPv4 VXLAN remote',
    dev: 'vx4',
    fields: { mac: MAC, address: '192.168.0.7', flags: ['self'] },
    words: 'dst 192.168.0.7 self permanent',
    shown: { mac: MAC, dst: '192.168.0.7', state: 'permanent' },
  },
  {
    name: 'a VXLAN remote with port and vni',
    dev: 'vx4',
    fields: { mac: MAC, address: '192.168.0.8', port: 8472, vni: 77, flags: ['self'] },
    words: 'dst 192.168.0.8 port 8472 vni 77 self permanent',
    shown: { mac: MAC, dst: '192.168.0.8', port: 8472, vni: 77 },
  },
  {
    name: 'an IPv6 VXLAN remote',
    dev: 'vx6',
    fields: { mac: MAC, address: 'fd00::7', flags: ['self'] },
    words: 'dst fd00::7 self permanent',
    shown: { mac: MAC, dst: 'fd00::7', state: 'permanent' },
  },
];

const namespaces = netNsPerTest();

async function setUp() {
  const ns = await namespaces.make();
  const route = namespaces.closing(await openRoute(ns.path));
  await route.apply([
    { do: 'add', kind: 'link', name: 'br0', type: 'bridge', up: true },
    { do: 'add', kind: 'link', name: 'port', peer: { name: 'peer' }, master: 'br0', up: true },
    { do: 'add', kind: 'link', name: 'vx4', vxlan: { vni: 4, port: 4789, local: '192.168.0.1' }, up: true },
    { do: 'add', kind: 'link', name: 'vx6', vxlan: { vni: 6, port: 4789, local: 'fd00::1' }, up: true },
  ]);
  return { ns, route };
}

// On a VXLAN: it always has a carrier. A link that loses its carrier forgets every neighbour that is not permanent.
describeWith({ root: true, tools: ['ip', 'bridge', 'nsenter'] }, 'neighbours', () => {
  test.each(NEIGHBOURS)('$name: ip shows what the core made', async ({ fields, shown }) => {
    const { ns, route } = await setUp();
    await route.apply([{ do: 'add', kind: 'neighbour', dev: 'vx4', ...fields }]);
    const all = await ns.json<{ dst: string }[]>('ip', '-j', 'neigh', 'show', 'dev', 'vx4', 'nud', 'all');
    expect(all.filter(({ dst }) => dst === fields.address)).toMatchObject([shown]);
  });

  test.each(NEIGHBOURS)(
    '$name: the core tells what ip made, replaces it and deletes it',
    async ({ fields, words }) => {
      const { ns, route } = await setUp();
      await ns.run('ip', 'neigh', 'add', ...words.split(' '), 'dev', 'vx4');
      const ours = async () =>
        (await route.neighbours({ dev: 'vx4' })).filter(({ address }) => address === fields.address);
      expect(await ours()).toMatchObject([fields]);
      const mac = '02:00:00:00:00:0a';
      await route.apply([{ do: 'replace', kind: 'neighbour', dev: 'vx4', ...fields, mac }]);
      expect(await ours()).toMatchObject([{ ...fields, mac }]);
      await route.apply([{ do: 'delete', kind: 'neighbour', dev: 'vx4', address: fields.address ?? '' }]);
      expect((await ours()).filter(({ state }) => state !== 'failed')).toEqual([]);
    },
  );
});

describeWith({ root: true, tools: ['ip', 'bridge', 'nsenter'] }, 'forwarding databases', () => {
  test.each(ENTRIES)('$name: bridge shows what the core made', async ({ dev, fields, shown }) => {
    const { ns, route } = await setUp();
    await route.apply([{ do: 'replace', kind: 'neighbour', family: 'bridge', dev, ...fields }]);
    const all = await ns.json<{ mac: string; dst?: string }[]>(
      'bridge',
      '-j',
      '-d',
      'fdb',
      'show',
      'dev',
      dev,
    );
    expect(all.filter(({ mac, dst }) => mac === fields.mac && dst === fields.address)).toMatchObject([shown]);
  });

  test.each(ENTRIES)(
    '$name: the core tells what bridge made, and deletes it',
    async ({ dev, fields, words }) => {
      const { ns, route } = await setUp();
      const mac = fields.mac ?? '';
      await ns.run('bridge', 'fdb', 'replace', mac, 'dev', dev, ...words.split(' '));
      const ours = async () =>
        (await route.neighbours({ family: 'bridge', dev })).filter(
          (entry) => entry.mac === mac && entry.address === fields.address,
        );
      const { flags: _, ...plain } = fields;
      expect(await ours()).toMatchObject([plain]);
      await route.apply([{ do: 'delete', kind: 'neighbour', family: 'bridge', dev, ...fields }]);
      expect(await ours()).toEqual([]);
    },
  );
});
