// The builders of rules, by what nft makes of them.
// Guarantees: each reads in nft's words as its name says.
import { expect, test } from 'vitest';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import * as x from '../../../src/kernel/nftables/expressions.js';
import { netNsPerTest } from '../../support/netns.js';
import { ruleCaseTable } from '../../support/nftables/ruleCases.js';
import { describeWith } from '../../support/requires.js';

type Case = readonly [family: 'ip' | 'ip6' | 'inet', chain: string, parts: readonly x.Part[], text: string];

const CASES: readonly Case[] = [
  ['ip', 'filter', [x.ipSaddr('10.0.0.1'), x.accept], 'ip saddr 10.0.0.1 accept'],
  ['ip', 'filter', [x.ipDaddr('10.1.2.3/17', 'neq'), x.drop], 'ip daddr != 10.1.0.0/17 drop'],
  ['ip6', 'filter', [x.ip6Saddr('fd00::1'), x.returns], 'ip6 saddr fd00::1 return'],
  ['ip6', 'filter', [x.ip6Daddr('fd00:1::/33')], 'ip6 daddr fd00:1::/33'],
  ['inet', 'filter', [x.nfproto('ip6'), x.ip6Daddr('::ffff:10.0.0.1/128')], 'ip6 daddr ::ffff:10.0.0.1'],
  ['ip', 'filter', [x.l4proto('tcp'), x.dport(80), x.jump('other')], 'tcp dport 80 jump other'],
  ['ip', 'filter', [x.l4proto('udp'), x.sport(53, 'neq'), x.goTo('other')], 'udp sport != 53 goto other'],
  ['ip', 'filter', [x.l4proto('sctp', 'neq')], 'meta l4proto != sctp'],
  ['ip', 'filter', [x.l4proto('tcp'), x.dportIn(80, 90)], 'tcp dport 80-90'],
  ['ip', 'filter', [x.iifname('eth0'), x.oifname('veth1', 'neq')], 'iifname "eth0" oifname != "veth1"'],
  ['ip', 'filter', [x.markBits(0x4000)], 'meta mark & 0x00004000 == 0x00004000'],
  ['ip', 'filter', [x.setMarkBits(0x4000)], 'meta mark set meta mark | 0x00004000'],
  ['ip', 'filter', [x.flipMarkBits(0x4000)], 'meta mark set meta mark ^ 0x00004000'],
  ['ip', 'filter', [x.ctState('established', 'related')], 'ct state established,related'],
  ['ip', 'filter', [x.ctStatus('dnat')], 'ct status dnat'],
  ['ip', 'filter', [x.fibType(['daddr'], 'local')], 'fib daddr type local'],
  ['ip', 'filter', [x.matchPayload({ base: 'network', offset: 9, length: 1 }, '06')], 'ip protocol tcp'],
  ['ip', 'filter', [x.inSet('addresses', 'ip saddr')], 'ip saddr @addresses'],
  ['ip', 'filter', [x.notInSet('addresses', 'ip saddr')], 'ip saddr != @addresses'],
  [
    'ip',
    'filter',
    [x.vmapLookup('services', 'ip daddr', 'meta l4proto', 'th dport')],
    'ip daddr . meta l4proto . th dport vmap @services',
  ],
  [
    'ip6',
    'filter',
    [x.vmapLookup('services', 'ip6 daddr', 'meta l4proto', 'th dport')],
    'ip6 daddr . meta l4proto . th dport vmap @services',
  ],
  [
    'ip',
    'filter',
    [x.mapLookup('marks', 'ip saddr'), [{ meta: { key: 'mark', sreg: 1 } }]],
    'meta mark set ip saddr map @marks',
  ],
  [
    'ip',
    'filter',
    [x.updateSet('recent', ['ip saddr'], { timeoutMs: 30_000 })],
    'update @recent { ip saddr timeout 30s }',
  ],
  ['ip6', 'filter', [x.updateSet('recent', ['ip6 saddr'], { op: 'delete' })], 'delete @recent { ip6 saddr }'],
  ['ip', 'filter', [x.counter], 'counter packets 0 bytes 0'],
  ['ip', 'raw', [x.notrack], 'notrack'],
  ['ip', 'pre', [x.l4proto('tcp'), x.dnatTo('10.0.0.1', 8080)], 'meta l4proto tcp dnat to 10.0.0.1:8080'],
  ['ip6', 'pre', [x.l4proto('udp'), x.dnatTo('fd00::1', 53)], 'meta l4proto udp dnat to [fd00::1]:53'],
  ['inet', 'pre', [x.dnatTo('10.0.0.1')], 'dnat ip to 10.0.0.1'],
  ['ip', 'post', [x.snatTo('10.0.0.1', undefined, ['fully-random'])], 'snat to 10.0.0.1 fully-random'],
  ['ip', 'post', [x.masquerade('fully-random')], 'masquerade fully-random'],
  ['ip6', 'post', [x.masquerade()], 'masquerade'],
  ['ip', 'pre', [x.l4proto('tcp'), x.redirectTo(8080)], 'meta l4proto tcp redirect to :8080'],
  ['ip', 'filter', [x.reject('ip')], 'reject'],
  ['ip', 'filter', [x.reject('ip', 'host-unreachable')], 'reject with icmp host-unreachable'],
  ['ip6', 'filter', [x.reject('ip6', 'admin-prohibited')], 'reject with icmpv6 admin-prohibited'],
  ['inet', 'filter', [x.reject('inet', 'no-route')], 'reject with icmpx no-route'],
  ['ip', 'filter', [x.l4proto('tcp'), x.reject('ip', 'tcp-reset')], 'reject with tcp reset'],
];

describeWith({ root: true, tools: ['nft'] }, 'builders of rules', () => {
  const namespaces = netNsPerTest();

  test.each(CASES.map(([family, chain, parts, text]) => [family, text, chain, parts] as const))(
    '%s: %s',
    async (family, text, chain, parts) => {
      const ns = await namespaces.make();
      await ns.run('nft', ruleCaseTable(family));
      const nft = namespaces.closing(await openNft(ns.path));
      const expressions = x.rule(...parts);
      await nft.commit([{ do: 'add', kind: 'rule', family, table: 't', chain, expressions }]);
      const listed = await ns.run('nft', 'list', 'chain', family, 't', chain);
      const rules = listed.split('\n').filter((line) => line.startsWith('\t\t') && !line.includes(' hook '));
      expect(rules.map((line) => line.trim())).toEqual([text]);
    },
  );

  test('an endpoint chosen by a map of addresses and ports', async () => {
    const ns = await namespaces.make();
    const nft = namespaces.closing(await openNft(ns.path));
    const t = { family: 'ip', table: 't' } as const;
    await nft.commit([
      { do: 'add', kind: 'table', family: 'ip', name: 't' },
      { do: 'add', kind: 'chain', ...t, name: 'c', type: 'nat', hook: 'prerouting', priority: -100 },
      {
        do: 'add',
        kind: 'set',
        ...t,
        name: 'm',
        type: ['ipv4_addr'],
        mapType: ['ipv4_addr', 'inet_service'],
      },
      {
        do: 'add',
        kind: 'rule',
        ...t,
        chain: 'c',
        expressions: x.rule(x.l4proto('tcp'), x.mapLookup('m', 'ip daddr'), x.dnatToLoaded('ip')),
      },
    ]);
    expect(await ns.run('nft', 'list', 'ruleset')).toContain('dnat ip to ip daddr map @m');
  });
});
