import { expect, test } from 'vitest';
import { removeUnusedTables, tablesOfIptables } from '../../../src/cluster/iptablesTables.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const namespaces = netNsPerTest();

describeWith({ root: true, tools: ['iptables-nft', 'ip6tables-nft', 'nft'] }, 'what iptables leaves', () => {
  test('goes when nobody uses it and nobody had it before', async () => {
    const ns = await namespaces.make();
    const nft = namespaces.closing(await openNft(ns.path));
    for (const tool of ['iptables-nft', 'ip6tables-nft'])
      for (const table of ['nat', 'mangle', 'filter', 'raw'])
        for (const word of ['-A', '-D']) await ns.run(tool, '-t', table, word, 'OUTPUT', '-j', 'ACCEPT');
    await ns.run('iptables-nft', '-t', 'nat', '-N', 'OTHERS');
    await ns.run('iptables-nft', '-t', 'filter', '-A', 'INPUT', '-j', 'ACCEPT');
    await ns.run('ip6tables-nft', '-P', 'FORWARD', 'DROP');
    expect(await tablesOfIptables(nft)).toHaveLength(8);
    await removeUnusedTables(nft, ['ip mangle']);
    expect((await tablesOfIptables(nft)).sort()).toEqual(['ip filter', 'ip mangle', 'ip nat', 'ip6 filter']);
    await ns.run('iptables-nft', '-t', 'nat', '-X', 'OTHERS');
    await removeUnusedTables(nft, []);
    expect((await tablesOfIptables(nft)).sort()).toEqual(['ip filter', 'ip6 filter']);
  });

  test('is nothing where iptables was never used', async () => {
    const nft = namespaces.closing(await openNft((await namespaces.make()).path));
    expect(await tablesOfIptables(nft)).toEqual([]);
    await removeUnusedTables(nft, []);
  });
});
