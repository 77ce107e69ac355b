// Keys of sets as numbers, for the in-memory model: the same texts are accepted, and listed in the same form.
// Guarantees: pure; two texts for one key give equal keys.
import { addressBytes } from '../bytes.js';

/** Inclusive ends, one pair a field. */
export interface Key {
  readonly from: readonly bigint[];
  readonly to: readonly bigint[];
  /** As it is listed. */
  readonly text: string;
}

const PROTOCOLS: Record<string, number> = {
  icmp: 1,
  igmp: 2,
  tcp: 6,
  udp: 17,
  dccp: 33,
  gre: 47,
  esp: 50,
  ah: 51,
  icmpv6: 58,
  sctp: 132,
  udplite: 136,
};
const SIZES: Record<string, number> = {
  ipv4_addr: 4,
  ipv6_addr: 16,
  ether_addr: 6,
  ether_type: 2,
  inet_proto: 1,
  inet_service: 2,
  icmp_type: 1,
  icmpv6_type: 1,
  mark: 4,
  ifname: 16,
  iface_index: 4,
  integer: 4,
  nf_proto: 1,
  ct_state: 4,
  fib_addrtype: 4,
};
const HEXADECIMAL = new Set(['mark', 'ct_state', 'ether_type']);

export const isType = (word: string): boolean => word === 'verdict' || word in SIZES;

const bytesToNumber = (bytes: Iterable<number>) =>
  [...bytes].reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

function parseOne(type: string, text: string): bigint {
  const size = SIZES[type] ?? 0;
  const refuse = (): never => {
    throw new RangeError(`field 'key' holds '${text}', which is not of type ${type}`);
  };
  if (type === 'ipv4_addr' || type === 'ipv6_addr') {
    if (text.includes(':') !== (type === 'ipv6_addr')) return refuse();
    return BigInt(`0x${addressBytes(text)}`);
  }
  if (type === 'ether_addr')
    return /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(text) ? BigInt(`0x${text.replaceAll(':', '')}`) : refuse();
  if (type === 'ifname') {
    const bytes = new TextEncoder().encode(text);
    if (bytes.length === 0 || bytes.length >= size) return refuse();
    return bytesToNumber(bytes) << BigInt(8 * (size - bytes.length));
  }
  const known = type === 'inet_proto' ? PROTOCOLS[text] : undefined;
  if (known !== undefined) return BigInt(known);
  if (!/^(\d+|0x[0-9a-f]+)$/i.test(text)) return refuse();
  const number = BigInt(text);
  return number >> BigInt(8 * size) === 0n ? number : refuse();
}

function parseField(type: string, text: string, ranges: boolean): [bigint, bigint] {
  if (ranges && type !== 'ifname' && text.includes('-')) {
    const [from = '', to = ''] = text.split('-');
    const ends: [bigint, bigint] = [parseOne(type, from), parseOne(type, to)];
    if (ends[0] > ends[1])
      throw new RangeError(`field 'key' holds '${text}', a range that ends before it begins`);
    return ends;
  }
  const slash = text.indexOf('/');
  if (ranges && slash >= 0) {
    const bits = 8 * (SIZES[type] ?? 0);
    const ones = Number(text.slice(slash + 1));
    if (!Number.isInteger(ones) || ones < 0 || ones > bits)
      throw new RangeError(`field 'key' holds '${text}', which is not of type ${type}`);
    const rest = (1n << BigInt(bits - ones)) - 1n;
    const from = parseOne(type, text.slice(0, slash)) & ~rest;
    return [from, from | rest];
  }
  const one = parseOne(type, text);
  return [one, one];
}

function ipv6Text(value: bigint): string {
  const groups = (value.toString(16).padStart(32, '0').match(/.{4}/g) ?? []).map((group) =>
    Number.parseInt(group, 16).toString(16),
  );
  // The longest run of at least two zeros is left out, the first of equals.
  const [longest = ''] = [...groups.join(':').matchAll(/(?<![0-9a-f])0(:0)+(?![0-9a-f])/g)]
    .map(([run]) => run)
    .sort((a, b) => b.length - a.length);
  if (longest === '') return groups.join(':');
  const text = groups.join(':');
  const at = [...text.matchAll(new RegExp(`(?<![0-9a-f])${longest}(?![0-9a-f])`, 'g'))][0]?.index ?? 0;
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`;
}

function formatOne(type: string, value: bigint): string {
  const digits = value.toString(16).padStart(2 * (SIZES[type] ?? 0), '0');
  const bytes = (digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
  if (type === 'ipv4_addr') return bytes.join('.');
  if (type === 'ipv6_addr') return ipv6Text(value);
  if (type === 'ether_addr') return (digits.match(/../g) ?? []).join(':');
  if (type === 'ifname') return new TextDecoder().decode(new Uint8Array(bytes.slice(0, bytes.indexOf(0))));
  if (HEXADECIMAL.has(type)) return `0x${digits}`;
  const protocol = Object.entries(PROTOCOLS).find(([, number]) => BigInt(number) === value)?.[0];
  return type === 'inet_proto' && protocol !== undefined ? protocol : value.toString();
}

function formatField(type: string, from: bigint, to: bigint): string {
  if (from === to) return formatOne(type, from);
  const span = to - from + 1n;
  const isPrefix = (span & (span - 1n)) === 0n && from % span === 0n;
  if (isPrefix && (type === 'ipv4_addr' || type === 'ipv6_addr'))
    return `${formatOne(type, from)}/${8 * (SIZES[type] ?? 0) - (span.toString(2).length - 1)}`;
  return `${formatOne(type, from)}-${formatOne(type, to)}`;
}

/** RangeError for text that is no key of these types. */
export function parseKey(types: readonly string[], text: string, ranges: boolean): Key {
  if (text === '*') return { from: [], to: [], text };
  const parts = types.length === 1 ? [text] : text.split(' . ');
  if (parts.length !== types.length)
    throw new RangeError(
      `field 'key' holds '${text}', but needs ${types.length} parts with " . " between them`,
    );
  const ends = types.map((type, index) => parseField(type, parts[index] ?? '', ranges));
  return {
    from: ends.map(([from]) => from),
    to: ends.map(([, to]) => to),
    text: ends.map(([from, to], index) => formatField(types[index] ?? '', from, to)).join(' . '),
  };
}

/** Whether two keys of one set have a value in common. */
export const overlaps = (a: Key, b: Key): boolean =>
  a.from.length === b.from.length &&
  a.from.length > 0 &&
  a.from.every((from, index) => from <= (b.to[index] ?? 0n) && (a.to[index] ?? 0n) >= (b.from[index] ?? 0n));
