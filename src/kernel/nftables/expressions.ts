// Builds the usual parts of rules, so that a rule reads like nft's own text:
//   rule(ipDaddr('10.96.0.0/12'), l4proto('tcp'), dport(80), jump('services'))
// Guarantees: pure; each part leaves what it needs in register 1 and asks nothing of the part before it.
import { addressBytes, bigEndian, hostOrder, maskBytes, textBytes } from './bytes.js';
import type { Expression, FibFlag, Hex, NatFlag, Register, Verdict } from './expression.js';

/** Part of a rule: one or more expressions. */
export type Part = readonly Expression[];
type Comparison = 'eq' | 'neq' | 'lt' | 'lte' | 'gt' | 'gte';

/** The expressions of a rule. */
export const rule = (...parts: readonly Part[]): Expression[] => parts.flat();

// ---- fields of a packet --------------------------------------------------------------------------------------------

const payload = (base: 'network' | 'transport', offset: number, length: number) => ({
  length,
  load: (dreg: Register): Expression => ({ payload: { base, offset, length, dreg } }),
});
const meta = (key: 'iifname' | 'oifname' | 'l4proto' | 'mark' | 'nfproto', length: number) => ({
  length,
  load: (dreg: Register): Expression => ({ meta: { key, dreg } }),
});
const ct = (key: 'mark' | 'ip daddr' | 'ip6 daddr' | 'proto-dst', length: number) => ({
  length,
  load: (dreg: Register): Expression =>
    key === 'mark' ? { ct: { key, dreg } } : { ct: { key, direction: 'original', dreg } },
});

/** What can be matched and looked up, by the words nft has for it. */
const FIELDS = {
  'ip saddr': payload('network', 12, 4),
  'ip daddr': payload('network', 16, 4),
  'ip6 saddr': payload('network', 8, 16),
  'ip6 daddr': payload('network', 24, 16),
  'ip protocol': payload('network', 9, 1),
  'th sport': payload('transport', 0, 2),
  'th dport': payload('transport', 2, 2),
  'meta l4proto': meta('l4proto', 1),
  'meta nfproto': meta('nfproto', 1),
  'meta mark': meta('mark', 4),
  'meta iifname': meta('iifname', 16),
  'meta oifname': meta('oifname', 16),
  'ct mark': ct('mark', 4),
  'ct original ip daddr': ct('ip daddr', 4),
  'ct original ip6 daddr': ct('ip6 daddr', 16),
  'ct original proto-dst': ct('proto-dst', 2),
} as const;
type Field = keyof typeof FIELDS;

/** The register at that many four-byte steps behind register 1, as the kernel tells it back. */
const registerAt = (step: number): Register => (step % 4 === 0 ? 1 + step / 4 : 8 + step);

/** Loads fields one behind the other, as the key of a concatenation lies. */
export function load(...fields: readonly Field[]): Expression[] {
  let step = 0;
  return fields.map((name) => {
    const field = FIELDS[name];
    const loaded = field.load(registerAt(step));
    step += Math.ceil(field.length / 4);
    return loaded;
  });
}

const compare = (op: Comparison, value: Hex): Expression => ({ cmp: { sreg: 1, op, value } });

/** Compares a field with bytes in network byte order. */
export const match = (field: Field, value: Hex, op: Comparison = 'eq'): Part => [
  ...load(field),
  compare(op, value),
];

/** Compares bytes anywhere in the packet. */
export const matchPayload = (
  place: { base: 'link' | 'network' | 'transport'; offset: number; length: number },
  value: Hex,
  op: Comparison = 'eq',
): Part => [{ payload: { ...place, dreg: 1 } }, compare(op, value)];

/** An address, or with a prefix length a network. */
function address(field: Field, text: string, op: 'eq' | 'neq'): Part {
  const [host = text, ones] = text.split('/');
  const value = addressBytes(host);
  const length = value.length / 2;
  if (ones === undefined || Number(ones) === 8 * length) return match(field, value, op);
  const mask = maskBytes(Number(ones), length);
  const network = bigEndian(BigInt(`0x${value}`) & BigInt(`0x${mask}`), length);
  const masked: Expression = {
    bitwise: { sreg: 1, dreg: 1, length, mask, xor: bigEndian(0, length) },
  };
  return [...load(field), masked, compare(op, network)];
}

export const ipSaddr = (text: string, op: 'eq' | 'neq' = 'eq') => address('ip saddr', text, op);
export const ipDaddr = (text: string, op: 'eq' | 'neq' = 'eq') => address('ip daddr', text, op);
export const ip6Saddr = (text: string, op: 'eq' | 'neq' = 'eq') => address('ip6 saddr', text, op);
export const ip6Daddr = (text: string, op: 'eq' | 'neq' = 'eq') => address('ip6 daddr', text, op);

const PROTOCOLS = { icmp: 1, igmp: 2, tcp: 6, udp: 17, icmpv6: 58, sctp: 132 } as const;
type Protocol = keyof typeof PROTOCOLS;

export const l4proto = (protocol: Protocol, op: 'eq' | 'neq' = 'eq') =>
  match('meta l4proto', bigEndian(PROTOCOLS[protocol], 1), op);
/** For tables of family inet, before anything that reads the IP header. */
export const nfproto = (family: 'ip' | 'ip6') => match('meta nfproto', family === 'ip' ? '02' : '0a');
export const sport = (port: number, op: Comparison = 'eq') => match('th sport', bigEndian(port, 2), op);
export const dport = (port: number, op: Comparison = 'eq') => match('th dport', bigEndian(port, 2), op);
export const dportIn = (from: number, to: number): Part => [
  ...load('th dport'),
  { range: { sreg: 1, op: 'eq', from: bigEndian(from, 2), to: bigEndian(to, 2) } },
];
export const iifname = (name: string, op: 'eq' | 'neq' = 'eq') =>
  match('meta iifname', textBytes(name, 16), op);
export const oifname = (name: string, op: 'eq' | 'neq' = 'eq') =>
  match('meta oifname', textBytes(name, 16), op);

// ---- marks, connections, routing -----------------------------------------------------------------------------------

const masked = (mask: number, xor = 0): Expression => ({
  bitwise: { sreg: 1, dreg: 1, length: 4, mask: hostOrder(mask), xor: hostOrder(xor) },
});
const notBits = (bits: number) => (0xffffffff ^ bits) >>> 0;

/** The packet's mark has (or, with neq 0, has any of) these bits. */
export const markBits = (bits: number, op: 'eq' | 'neq' = 'eq', value = bits): Part => [
  ...load('meta mark'),
  masked(bits),
  compare(op, hostOrder(value)),
];
/** Sets bits of the packet's mark, and leaves the others. */
export const setMarkBits = (bits: number): Part => [
  ...load('meta mark'),
  masked(notBits(bits), bits),
  { meta: { key: 'mark', sreg: 1 } },
];
/** Turns bits of the packet's mark round. */
export const flipMarkBits = (bits: number): Part => [
  ...load('meta mark'),
  masked(0xffffffff, bits),
  { meta: { key: 'mark', sreg: 1 } },
];

const CT_STATES = { invalid: 1, established: 2, related: 4, new: 8, untracked: 64 } as const;
type CtState = keyof typeof CT_STATES;

/** The connection is in one of these states. */
export const ctState = (...states: readonly CtState[]): Part => [
  { ct: { key: 'state', dreg: 1 } },
  masked(states.reduce((bits, state) => bits | CT_STATES[state], 0)),
  compare('neq', hostOrder(0)),
];
const CT_STATUS = { snat: 16, dnat: 32 } as const;
export const ctStatus = (...states: readonly (keyof typeof CT_STATUS)[]): Part => [
  { ct: { key: 'status', dreg: 1 } },
  masked(states.reduce((bits, state) => bits | CT_STATUS[state], 0)),
  compare('neq', hostOrder(0)),
];

const ADDRESS_TYPES = {
  unicast: 1,
  local: 2,
  broadcast: 3,
  multicast: 5,
  blackhole: 6,
  unreachable: 7,
} as const;

/** What kind of address the routing table says it is: `fib daddr type local`. */
export const fibType = (
  flags: readonly FibFlag[],
  type: keyof typeof ADDRESS_TYPES,
  op: 'eq' | 'neq' = 'eq',
): Part => [{ fib: { flags, result: 'type', dreg: 1 } }, compare(op, hostOrder(ADDRESS_TYPES[type]))];

// ---- sets and maps -------------------------------------------------------------------------------------------------

/** A set by name, or the id of an anonymous one in the same batch. */
type SetRef = string | { readonly set: string; readonly setId: number };
const setRef = (ref: SetRef) => (typeof ref === 'string' ? { set: ref } : ref);

/** Goes on if the fields' values are in the set. */
export const inSet = (set: SetRef, ...fields: readonly Field[]): Part => [
  ...load(...fields),
  { lookup: { ...setRef(set), sreg: 1 } },
];
export const notInSet = (set: SetRef, ...fields: readonly Field[]): Part => [
  ...load(...fields),
  { lookup: { ...setRef(set), sreg: 1, flags: ['invert'] } },
];
/** Does what the verdict map says for the fields' values. */
export const vmapLookup = (set: SetRef, ...fields: readonly Field[]): Part => [
  ...load(...fields),
  { lookup: { ...setRef(set), sreg: 1, dreg: 0 } },
];
/** Loads the map's data for the fields' values into register 1. */
export const mapLookup = (set: SetRef, ...fields: readonly Field[]): Part => [
  ...load(...fields),
  { lookup: { ...setRef(set), sreg: 1, dreg: 1 } },
];
/** A number from 0 to modulus - 1 looked up in a verdict map: `numgen random mod 2 vmap`. */
export const numgenVmap = (modulus: number, set: SetRef, type: 'random' | 'inc' = 'random'): Part => [
  { numgen: { type, modulus, dreg: 1 } },
  { lookup: { ...setRef(set), sreg: 1, dreg: 0 } },
];
/** Adds the fields' values to a dynamic set, or makes their timeout anew: `update @set { ... }`. */
export const updateSet = (
  set: SetRef,
  fields: readonly Field[],
  options: { timeoutMs?: number; op?: 'add' | 'update' | 'delete' } = {},
): Part => {
  const { op = 'update', timeoutMs } = options;
  const timeout = timeoutMs === undefined ? {} : { timeoutMs };
  return [...load(...fields), { dynset: { ...setRef(set), op, sregKey: 1, ...timeout } }];
};

// ---- what is done --------------------------------------------------------------------------------------------------

const verdict = (text: Verdict): Part => [{ immediate: { verdict: text } }];
export const accept = verdict('accept');
export const drop = verdict('drop');
export const returns = verdict('return');
export const jump = (chain: string) => verdict(`jump ${chain}`);
export const goTo = (chain: string) => verdict(`goto ${chain}`);

export const counter: Part = [{ counter: {} }];
export const notrack: Part = [{ notrack: {} }];

/** Goes on for so many packets a second, and as many at once after a pause. */
export const atMost = (packetsPerSecond: number): Part => [
  { limit: { rate: packetsPerSecond, perSeconds: 1, burst: packetsPerSecond, type: 'packets' } },
];
/** The kernel tells whoever listens every rule that the packet meets from here on: `meta nftrace set 1`. */
export const traced: Part = [{ immediate: { dreg: 1, value: '01' } }, { meta: { key: 'nftrace', sreg: 1 } }];

const flagsOf = (flags: readonly NatFlag[]) => (flags.length === 0 ? {} : { flags });

/** Register 1 takes the address, register 2 the port: an address may fill 16 bytes. */
function nat(
  type: 'snat' | 'dnat',
  host: string | undefined,
  port: number | undefined,
  flags: readonly NatFlag[],
): Part {
  const value = host === undefined ? undefined : addressBytes(host);
  const family = value?.length === 32 ? 'ip6' : 'ip';
  return [
    ...(value === undefined ? [] : [{ immediate: { dreg: 1, value } }]),
    ...(port === undefined ? [] : [{ immediate: { dreg: 2, value: bigEndian(port, 2) } }]),
    {
      nat: {
        type,
        family,
        ...(value === undefined ? {} : { sregAddrMin: 1 }),
        ...(port === undefined ? {} : { sregProtoMin: 2 }),
        ...flagsOf(flags),
      },
    },
  ];
}
export const dnatTo = (host: string, port?: number, flags: readonly NatFlag[] = []) =>
  nat('dnat', host, port, flags);
export const snatTo = (host: string, port?: number, flags: readonly NatFlag[] = []) =>
  nat('snat', host, port, flags);
/** To the address and port that a map with data `ipv4_addr . inet_service` (or ipv6_addr) left in register 1. */
export const dnatToLoaded = (family: 'ip' | 'ip6'): Part => [
  { nat: { type: 'dnat', family, sregAddrMin: 1, sregProtoMin: family === 'ip' ? 9 : 2 } },
];
export const masquerade = (...flags: readonly NatFlag[]): Part => [{ masq: flagsOf(flags) }];
export const redirectTo = (port: number): Part => [
  { immediate: { dreg: 1, value: bigEndian(port, 2) } },
  { redir: { sregProtoMin: 1 } },
];

/** ICMP codes of each family; a table of family inet names what it means, and the kernel chooses. */
const REJECT_CODES = {
  ip: { 'no-route': 0, 'port-unreachable': 3, 'host-unreachable': 1, 'admin-prohibited': 13 },
  ip6: { 'no-route': 0, 'port-unreachable': 4, 'host-unreachable': 3, 'admin-prohibited': 1 },
  inet: { 'no-route': 0, 'port-unreachable': 1, 'host-unreachable': 2, 'admin-prohibited': 3 },
} as const;

/** With an ICMP error, or a TCP reset; `family` is the table's. */
export function reject(
  family: keyof typeof REJECT_CODES,
  why: keyof (typeof REJECT_CODES)['ip'] | 'tcp-reset' = 'port-unreachable',
): Part {
  if (why === 'tcp-reset') return [{ reject: { type: 'tcp-reset' } }];
  return [{ reject: { type: family === 'inet' ? 'icmpx' : 'icmp', code: REJECT_CODES[family][why] } }];
}
