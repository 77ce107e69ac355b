// IP addresses and networks as numbers: what Service and pod addresses are allocated by. Pure.
// Guarantees: IPv4 without leading zeros, IPv6 in any written form, no zones; printed in the shortest form (RFC 5952).

export type Family = 'IPv4' | 'IPv6';

export interface Ip {
  readonly family: Family;
  readonly value: bigint;
}

export interface Cidr {
  readonly family: Family;
  /** The first address of the network: host bits are cleared. */
  readonly base: bigint;
  readonly prefix: number;
}

export const bitsOf = (family: Family): number => (family === 'IPv4' ? 32 : 128);

/** Undefined when the text is no address. */
export function parseIp(text: string): Ip | undefined {
  if (text.includes(':')) {
    const value = parseV6(text);
    return value === undefined ? undefined : { family: 'IPv6', value };
  }
  const value = parseV4(text);
  return value === undefined ? undefined : { family: 'IPv4', value };
}

export function formatIp({ family, value }: Ip): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
  const words = Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16));
  // The longest run of two or more zero words shrinks to ::, the first of equals.
  const runs = words.join(':').match(/\b0(:0)+\b/g) ?? [];
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), '');
  const text = words.join(':');
  if (longest === '') return text;
  const at = text.search(new RegExp(`\\b${longest}\\b`));
  const head = text.slice(0, at).replace(/:$/, '');
  const tail = text.slice(at + longest.length).replace(/^:/, '');
  return `${head}::${tail}`;
}

/** The same address written as everyone writes it, or undefined. */
export function canonicalIp(text: string): string | undefined {
  const ip = parseIp(text);
  return ip === undefined ? undefined : formatIp(ip);
}

/** Undefined when the text is no network. Host bits may be set and are cleared. */
export function parseCidr(text: string): Cidr | undefined {
  const match = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text);
  const ip = match?.[1] === undefined ? undefined : parseIp(match[1]);
  const prefix = Number(match?.[2]);
  if (ip === undefined || prefix > bitsOf(ip.family)) return undefined;
  const host = BigInt(bitsOf(ip.family) - prefix);
  return { family: ip.family, base: (ip.value >> host) << host, prefix };
}

export function formatCidr({ family, base, prefix }: Cidr): string {
  return `${formatIp({ family, value: base })}/${prefix}`;
}

/**
 * As the kernel's tools print it. It differs from the canonical form where an IPv4 address is in the last bytes behind
 * nothing but zeros: they write that one as such.
 */
export function printedIp(ip: Ip): string {
  const [front, last] = [ip.value >> 32n, ip.value & 0xffff_ffffn];
  const isEmbedded = front === 0xffffn || (front === 0n && last > 0xffffn);
  if (ip.family === 'IPv4' || !isEmbedded) return formatIp(ip);
  return `${front === 0n ? '::' : '::ffff:'}${formatIp({ family: 'IPv4', value: last })}`;
}

export const printedCidr = ({ family, base, prefix }: Cidr): string =>
  `${printedIp({ family, value: base })}/${prefix}`;

/** How many addresses the network has, first and last included. */
export function cidrSize({ family, prefix }: Cidr): bigint {
  return 1n << BigInt(bitsOf(family) - prefix);
}

/** False for addresses of the other family. */
export function contains(cidr: Cidr, ip: Ip | string): boolean {
  const address = typeof ip === 'string' ? parseIp(ip) : ip;
  if (address === undefined || address.family !== cidr.family) return false;
  return address.value >= cidr.base && address.value < cidr.base + cidrSize(cidr);
}

/** Whether they share an address. */
export function overlaps(a: Cidr, b: Cidr): boolean {
  return a.family === b.family && a.base < b.base + cidrSize(b) && b.base < a.base + cidrSize(a);
}

/** The nth address, 0 being the network's own. Throws RangeError past the end. */
export function addressAt(cidr: Cidr, n: number | bigint): string {
  const offset = BigInt(n);
  if (offset < 0n || offset >= cidrSize(cidr))
    throw new RangeError(`${formatCidr(cidr)} has no address number ${offset}`);
  return formatIp({ family: cidr.family, value: cidr.base + offset });
}

/** The inverse of addressAt; undefined for an address outside. */
export function indexOf(cidr: Cidr, ip: string): bigint | undefined {
  const address = parseIp(ip);
  if (address === undefined || !contains(cidr, address)) return undefined;
  return address.value - cidr.base;
}

/** The networks of that prefix length, in order, made one by one: there may be very many. */
export function* subnets(cidr: Cidr, prefix: number): Generator<Cidr, void> {
  if (prefix < cidr.prefix || prefix > bitsOf(cidr.family)) return;
  const step = 1n << BigInt(bitsOf(cidr.family) - prefix);
  const end = cidr.base + cidrSize(cidr);
  for (let base = cidr.base; base < end; base += step) yield { family: cidr.family, base, prefix };
}

const ZERO = 48;
const DOT = 46;

/** Character by character: a list may hold tens of thousands. */
function parseV4(text: string): bigint | undefined {
  let value = 0;
  let at = 0;
  for (let octets = 0; octets < 4; octets += 1) {
    if (octets > 0 && text.charCodeAt(at++) !== DOT) return undefined;
    const start = at;
    let octet = 0;
    for (let digit = digitAt(text, at); digit !== undefined && at < start + 3; digit = digitAt(text, at)) {
      octet = octet * 10 + digit;
      at += 1;
    }
    // Leading zeros mean octal to some readers, so they are refused, as Go does.
    const isOctal = at - start > 1 && text.charCodeAt(start) === ZERO;
    if (at === start || octet > 255 || isOctal) return undefined;
    value = value * 256 + octet;
  }
  return at === text.length ? BigInt(value) : undefined;
}

function digitAt(text: string, at: number): number | undefined {
  const digit = text.charCodeAt(at) - ZERO;
  return digit >= 0 && digit <= 9 ? digit : undefined;
}

function parseV6(text: string): bigint | undefined {
  let plain = text;
  const tail = text.lastIndexOf(':') + 1;
  if (text.includes('.')) {
    const v4 = parseV4(text.slice(tail));
    if (v4 === undefined) return undefined;
    plain = `${text.slice(0, tail)}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`;
  }
  const halves = plain.split('::');
  if (halves.length > 2) return undefined;
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const words = [...left, ...Array<string>(missing).fill('0'), ...right];
  if (!words.every((word) => /^[0-9a-fA-F]{1,4}$/.test(word))) return undefined;
  return words.reduce((sum, word) => (sum << 16n) | BigInt(`0x${word}`), 0n);
}
