// Rules in nft's words and in ours, at least one for every kind of expression.
// Guarantees: the type asks for every kind; what nft makes of the words is what the expressions say.
import type { Expression, ExpressionKind } from '../../../src/kernel/nftables/expression.js';

export interface RuleCase {
  readonly family: 'ip' | 'ip6' | 'inet';
  /** One of the chains of RULE_CASE_TABLE. */
  readonly chain: 'filter' | 'pre' | 'post' | 'raw';
  readonly nft: string;
  readonly expressions: readonly Expression[];
}

/** What the rules refer to, in a table "t" of the family. */
export const ruleCaseTable = (family: string) => {
  const address = family === 'ip6' ? 'ipv6_addr' : 'ipv4_addr';
  return `table ${family} t {
    set addresses { type ${address}; }
    set recent { type ${address}; flags dynamic, timeout; }
    map services { type ${address} . inet_proto . inet_service : verdict; }
    map marks { type ${address} : mark; }
    chain other { }
    chain filter { type filter hook input priority 0; }
    chain pre { type nat hook prerouting priority -100; }
    chain post { type nat hook postrouting priority 100; }
    chain raw { type filter hook prerouting priority -300; }
  }
`;
};

export const RULE_CASES: Record<
  Exclude<ExpressionKind, 'other' | 'match' | 'target'>,
  readonly RuleCase[]
> = {
  payload: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ip saddr 10.0.0.1',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 12, length: 4 } },
        { cmp: { sreg: 1, op: 'eq', value: '0a000001' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ip saddr set 10.0.0.9',
      expressions: [
        { immediate: { dreg: 1, value: '0a000009' } },
        {
          payload: {
            sreg: 1,
            base: 'network',
            offset: 12,
            length: 4,
            checksum: 'inet',
            checksumOffset: 10,
            checksumFlags: ['pseudoheader'],
          },
        },
      ],
    },
    {
      family: 'ip6',
      chain: 'filter',
      nft: 'ip6 daddr set fd00::9',
      expressions: [
        { immediate: { dreg: 1, value: 'fd000000000000000000000000000009' } },
        { payload: { sreg: 1, base: 'network', offset: 24, length: 16, checksumFlags: ['pseudoheader'] } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'udp dport set 53',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '11' } },
        { immediate: { dreg: 1, value: '0035' } },
        {
          payload: { sreg: 1, base: 'transport', offset: 2, length: 2, checksum: 'inet', checksumOffset: 6 },
        },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: '@th,0,8 0x50',
      expressions: [
        { payload: { dreg: 1, base: 'transport', offset: 0, length: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '50' } },
      ],
    },
  ],
  meta: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark 0x00000001',
      expressions: [{ meta: { key: 'mark', dreg: 1 } }, { cmp: { sreg: 1, op: 'eq', value: '01000000' } }],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark set 0x00004000',
      expressions: [{ immediate: { dreg: 1, value: '00400000' } }, { meta: { key: 'mark', sreg: 1 } }],
    },
    {
      family: 'ip6',
      chain: 'filter',
      nft: 'iifname "eth0"',
      expressions: [
        { meta: { key: 'iifname', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '65746830000000000000000000000000' } },
      ],
    },
    {
      family: 'inet',
      chain: 'filter',
      nft: 'meta nfproto ipv6',
      expressions: [{ meta: { key: 'nfproto', dreg: 1 } }, { cmp: { sreg: 1, op: 'eq', value: '0a' } }],
    },
  ],
  ct: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ct state established,related',
      expressions: [
        { ct: { key: 'state', dreg: 1 } },
        { bitwise: { sreg: 1, dreg: 1, length: 4, mask: '06000000', xor: '00000000' } },
        { cmp: { sreg: 1, op: 'neq', value: '00000000' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ct mark set 0x00000001',
      expressions: [{ immediate: { dreg: 1, value: '01000000' } }, { ct: { key: 'mark', sreg: 1 } }],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ct original ip daddr 10.0.0.1',
      expressions: [
        { ct: { key: 'ip daddr', direction: 'original', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '0a000001' } },
      ],
    },
    {
      family: 'ip6',
      chain: 'filter',
      nft: 'ct original ip6 daddr fd00::1',
      expressions: [
        { ct: { key: 'ip6 daddr', direction: 'original', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: 'fd000000000000000000000000000001' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta l4proto tcp ct original proto-dst 80',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { ct: { key: 'proto-dst', direction: 'original', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '0050' } },
      ],
    },
  ],
  fib: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'fib daddr type local',
      expressions: [
        { fib: { flags: ['daddr'], result: 'type', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '02000000' } },
      ],
    },
    {
      family: 'ip6',
      chain: 'filter',
      nft: 'fib saddr . iif oif missing',
      expressions: [
        { fib: { flags: ['saddr', 'iif', 'present'], result: 'oif', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '00000000' } },
      ],
    },
  ],
  numgen: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark set numgen random mod 4 offset 10',
      expressions: [
        { numgen: { type: 'random', modulus: 4, offset: 10, dreg: 1 } },
        { meta: { key: 'mark', sreg: 1 } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark set numgen inc mod 3',
      expressions: [{ numgen: { type: 'inc', modulus: 3, dreg: 1 } }, { meta: { key: 'mark', sreg: 1 } }],
    },
  ],
  hash: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark set jhash ip saddr mod 4 seed 0xdeadbeef',
      expressions: [
        { payload: { dreg: 2, base: 'network', offset: 12, length: 4 } },
        { hash: { type: 'jhash', sreg: 2, dreg: 1, length: 4, modulus: 4, seed: 3735928559 } },
        { meta: { key: 'mark', sreg: 1 } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark set symhash mod 2 offset 5',
      expressions: [
        { hash: { type: 'symhash', dreg: 1, modulus: 2, offset: 5 } },
        { meta: { key: 'mark', sreg: 1 } },
      ],
    },
  ],
  immediate: [
    { family: 'ip', chain: 'filter', nft: 'accept', expressions: [{ immediate: { verdict: 'accept' } }] },
    { family: 'ip', chain: 'filter', nft: 'drop', expressions: [{ immediate: { verdict: 'drop' } }] },
    { family: 'ip', chain: 'filter', nft: 'return', expressions: [{ immediate: { verdict: 'return' } }] },
    { family: 'ip', chain: 'filter', nft: 'continue', expressions: [{ immediate: { verdict: 'continue' } }] },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'jump other',
      expressions: [{ immediate: { verdict: 'jump other' } }],
    },
    {
      family: 'ip6',
      chain: 'filter',
      nft: 'goto other',
      expressions: [{ immediate: { verdict: 'goto other' } }],
    },
  ],
  cmp: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'tcp dport 80',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { payload: { dreg: 1, base: 'transport', offset: 2, length: 2 } },
        { cmp: { sreg: 1, op: 'eq', value: '0050' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'tcp dport != 80',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { payload: { dreg: 1, base: 'transport', offset: 2, length: 2 } },
        { cmp: { sreg: 1, op: 'neq', value: '0050' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'tcp dport < 80',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { payload: { dreg: 1, base: 'transport', offset: 2, length: 2 } },
        { cmp: { sreg: 1, op: 'lt', value: '0050' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'tcp dport <= 80',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { payload: { dreg: 1, base: 'transport', offset: 2, length: 2 } },
        { cmp: { sreg: 1, op: 'lte', value: '0050' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'tcp dport > 80',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { payload: { dreg: 1, base: 'transport', offset: 2, length: 2 } },
        { cmp: { sreg: 1, op: 'gt', value: '0050' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'tcp dport >= 80',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { payload: { dreg: 1, base: 'transport', offset: 2, length: 2 } },
        { cmp: { sreg: 1, op: 'gte', value: '0050' } },
      ],
    },
  ],
  range: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'tcp dport != 80-90',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { payload: { dreg: 1, base: 'transport', offset: 2, length: 2 } },
        { range: { sreg: 1, op: 'neq', from: '0050', to: '005a' } },
      ],
    },
  ],
  bitwise: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ip saddr 10.1.0.0/17',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 12, length: 4 } },
        { bitwise: { sreg: 1, dreg: 1, length: 4, mask: 'ffff8000', xor: '00000000' } },
        { cmp: { sreg: 1, op: 'eq', value: '0a010000' } },
      ],
    },
    {
      family: 'ip6',
      chain: 'filter',
      nft: 'ip6 saddr fd00::/9',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 8, length: 16 } },
        {
          bitwise: {
            sreg: 1,
            dreg: 1,
            length: 16,
            mask: 'ff800000000000000000000000000000',
            xor: '00000000000000000000000000000000',
          },
        },
        { cmp: { sreg: 1, op: 'eq', value: 'fd000000000000000000000000000000' } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark set meta mark | 0x00004000',
      expressions: [
        { meta: { key: 'mark', dreg: 1 } },
        { bitwise: { sreg: 1, dreg: 1, length: 4, mask: 'ffbfffff', xor: '00400000' } },
        { meta: { key: 'mark', sreg: 1 } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark set meta mark << 8',
      expressions: [
        { meta: { key: 'mark', dreg: 1 } },
        { bitwise: { sreg: 1, dreg: 1, length: 4, op: 'lshift', shift: '08000000' } },
        { meta: { key: 'mark', sreg: 1 } },
      ],
    },
  ],
  byteorder: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark >= 0x00000010',
      expressions: [
        { meta: { key: 'mark', dreg: 1 } },
        { byteorder: { sreg: 1, dreg: 1, op: 'hton', length: 4, size: 4 } },
        { cmp: { sreg: 1, op: 'gte', value: '00000010' } },
      ],
    },
  ],
  lookup: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ip saddr @addresses',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 12, length: 4 } },
        { lookup: { set: 'addresses', sreg: 1 } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ip saddr != @addresses',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 12, length: 4 } },
        { lookup: { set: 'addresses', sreg: 1, flags: ['invert'] } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'ip daddr . meta l4proto . th dport vmap @services',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 16, length: 4 } },
        { meta: { key: 'l4proto', dreg: 9 } },
        { payload: { dreg: 10, base: 'transport', offset: 2, length: 2 } },
        { lookup: { set: 'services', sreg: 1, dreg: 0 } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta mark set ip saddr map @marks',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 12, length: 4 } },
        { lookup: { set: 'marks', sreg: 1, dreg: 1 } },
        { meta: { key: 'mark', sreg: 1 } },
      ],
    },
  ],
  dynset: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'update @recent { ip saddr timeout 30s }',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 12, length: 4 } },
        { dynset: { set: 'recent', op: 'update', sregKey: 1, timeoutMs: 30000 } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'add @recent { ip saddr }',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 12, length: 4 } },
        { dynset: { set: 'recent', op: 'add', sregKey: 1 } },
      ],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'delete @recent { ip saddr }',
      expressions: [
        { payload: { dreg: 1, base: 'network', offset: 12, length: 4 } },
        { dynset: { set: 'recent', op: 'delete', sregKey: 1 } },
      ],
    },
  ],
  nat: [
    {
      family: 'ip',
      chain: 'pre',
      nft: 'meta l4proto tcp dnat to 10.0.0.1:8080',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { immediate: { dreg: 1, value: '0a000001' } },
        { immediate: { dreg: 2, value: '1f90' } },
        { nat: { type: 'dnat', family: 'ip', sregAddrMin: 1, sregProtoMin: 2 } },
      ],
    },
    {
      family: 'ip',
      chain: 'pre',
      nft: 'dnat to 10.0.0.1-10.0.0.9 persistent',
      expressions: [
        { immediate: { dreg: 1, value: '0a000001' } },
        { immediate: { dreg: 2, value: '0a000009' } },
        { nat: { type: 'dnat', family: 'ip', sregAddrMin: 1, sregAddrMax: 2, flags: ['persistent'] } },
      ],
    },
    {
      family: 'ip6',
      chain: 'post',
      nft: 'snat to fd00::1 fully-random',
      expressions: [
        { immediate: { dreg: 1, value: 'fd000000000000000000000000000001' } },
        { nat: { type: 'snat', family: 'ip6', sregAddrMin: 1, flags: ['fully-random'] } },
      ],
    },
    {
      family: 'inet',
      chain: 'pre',
      nft: 'meta l4proto tcp dnat ip to 10.0.0.1:1000-2000',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { immediate: { dreg: 1, value: '0a000001' } },
        { immediate: { dreg: 2, value: '03e8' } },
        { immediate: { dreg: 3, value: '07d0' } },
        { nat: { type: 'dnat', family: 'ip', sregAddrMin: 1, sregProtoMin: 2, sregProtoMax: 3 } },
      ],
    },
  ],
  masq: [
    { family: 'ip', chain: 'post', nft: 'masquerade', expressions: [{ masq: {} }] },
    {
      family: 'ip6',
      chain: 'post',
      nft: 'masquerade fully-random',
      expressions: [{ masq: { flags: ['fully-random'] } }],
    },
    {
      family: 'ip',
      chain: 'post',
      nft: 'meta l4proto tcp masquerade to :1024-65535 random',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { immediate: { dreg: 1, value: '0400' } },
        { immediate: { dreg: 2, value: 'ffff' } },
        { masq: { flags: ['random'], sregProtoMin: 1, sregProtoMax: 2 } },
      ],
    },
  ],
  redir: [
    { family: 'ip', chain: 'pre', nft: 'redirect', expressions: [{ redir: {} }] },
    {
      family: 'ip',
      chain: 'pre',
      nft: 'meta l4proto tcp redirect to :8080',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { immediate: { dreg: 1, value: '1f90' } },
        { redir: { sregProtoMin: 1 } },
      ],
    },
  ],
  reject: [
    { family: 'ip', chain: 'filter', nft: 'reject', expressions: [{ reject: { type: 'icmp', code: 3 } }] },
    {
      family: 'ip6',
      chain: 'filter',
      nft: 'reject with icmpv6 type admin-prohibited',
      expressions: [{ reject: { type: 'icmp', code: 1 } }],
    },
    {
      family: 'inet',
      chain: 'filter',
      nft: 'reject with icmpx type no-route',
      expressions: [{ reject: { type: 'icmpx', code: 0 } }],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'meta l4proto tcp reject with tcp reset',
      expressions: [
        { meta: { key: 'l4proto', dreg: 1 } },
        { cmp: { sreg: 1, op: 'eq', value: '06' } },
        { reject: { type: 'tcp-reset' } },
      ],
    },
  ],
  counter: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'counter packets 3 bytes 4',
      expressions: [{ counter: { packets: 3, bytes: 4 } }],
    },
  ],
  limit: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'limit rate 10/second burst 7 packets',
      expressions: [{ limit: { rate: 10, perSeconds: 1, burst: 7, type: 'packets' } }],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'limit rate over 2 kbytes/minute burst 3 kbytes',
      expressions: [{ limit: { rate: 2048, perSeconds: 60, burst: 3072, type: 'bytes', flags: ['invert'] } }],
    },
  ],
  log: [
    {
      family: 'ip',
      chain: 'filter',
      nft: 'log prefix "a b " level info flags tcp sequence,options',
      expressions: [{ log: { prefix: 'a b ', level: 'info', flags: ['tcp-sequence', 'tcp-options'] } }],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'log prefix "x" group 3 snaplen 64 queue-threshold 5',
      expressions: [{ log: { prefix: 'x', group: 3, snapLength: 64, queueThreshold: 5 } }],
    },
    {
      family: 'ip',
      chain: 'filter',
      nft: 'log flags all',
      expressions: [{ log: { flags: ['tcp-sequence', 'tcp-options', 'ip-options', 'skuid', 'ether'] } }],
    },
  ],
  notrack: [{ family: 'ip', chain: 'raw', nft: 'notrack', expressions: [{ notrack: {} }] }],
};
