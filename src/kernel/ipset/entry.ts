// The text of entries, read as the kernel reads it: for the fake.
// Guarantees: pure; what does not fit the set's type is a KernelError INVALID, as the core's would be.
import { KernelError } from '../error.js';
import { bitsOf, formatIp, type Ip, networkOf, parseIp } from '../ip.js';
import type { IpSetFamily, IpSetType } from './port.js';

type Part = 'address' | 'net' | 'protocol' | 'host' | 'secondNet' | 'interface' | 'mark' | 'port' | 'set';

export const PARTS: Readonly<Record<IpSetType, readonly Part[]>> = {
  'hash:ip': ['address'],
  'hash:ip,port': ['address', 'protocol'],
  'hash:ip,port,ip': ['address', 'protocol', 'host'],
  'hash:ip,port,net': ['address', 'protocol', 'secondNet'],
  'hash:ip,mark': ['address', 'mark'],
  'hash:net': ['net'],
  'hash:net,port': ['net', 'protocol'],
  'hash:net,net': ['net', 'secondNet'],
  'hash:net,port,net': ['net', 'protocol', 'secondNet'],
  'hash:net,iface': ['net', 'interface'],
  'bitmap:port': ['port'],
  'list:set': ['set'],
};

export interface Shape {
  readonly type: IpSetType;
  readonly family: IpSetFamily;
}

/** One part of an entry: a network (an address is one of full length) or a word. */
export type Value = { readonly ip: Ip; readonly prefix: number } | string;

export const hasNets = (type: IpSetType): boolean =>
  PARTS[type].some((part) => part === 'net' || part === 'secondNet');

export function textOf(values: readonly Value[]): string {
  return values
    .map((value) => {
      if (typeof value === 'string') return value;
      const whole = value.prefix === bitsOf(value.ip.family);
      return whole ? formatIp(value.ip) : `${formatIp(value.ip)}/${value.prefix}`;
    })
    .join();
}

/** Every entry the text stands for: ranges of addresses and ports are many. */
export function readEntry(text: string, shape: Shape): Value[][] {
  const parts = PARTS[shape.type];
  const pieces = text.split(',');
  if (pieces.length !== parts.length)
    refuse(
      text,
      `must have ${parts.length} part${parts.length === 1 ? '' : 's'}, as sets of type ${shape.type} have`,
    );
  let entries: Value[][] = [[]];
  for (const [i, part] of parts.entries()) {
    const values = readPart(pieces[i] ?? '', part, shape);
    entries = entries.flatMap((entry) => values.map((value) => [...entry, value]));
  }
  return entries;
}

function refuse(text: string, expected: string): never {
  throw KernelError.invalid(`entry '${text}': ${expected}`);
}

function readPart(text: string, part: Part, shape: Shape): Value[] {
  switch (part) {
    case 'address':
      return readAddresses(text, shape.family).flatMap(({ ip, prefix }) => hostsOf(ip, prefix));
    case 'net':
    case 'secondNet':
      return readAddresses(text, shape.family);
    case 'host':
      if (text.includes('/') || text.includes('-')) refuse(text, 'must be one address');
      return readAddresses(text, shape.family);
    case 'protocol':
      return readProtocol(text);
    case 'port':
      return readPorts(text);
    case 'mark':
      if (!/^(0x[0-9a-f]{1,8}|\d+)$/i.test(text)) refuse(text, 'must be a mark');
      return [`0x${Number(text).toString(16).padStart(8, '0')}`];
    case 'interface': {
      const name = text.replace(/^physdev:/, '');
      if (name === '' || name.length > 15) refuse(name, 'must be the name of a link, 1 to 15 bytes long');
      return [text];
    }
    case 'set':
      if (text === '' || Buffer.byteLength(text) > 31)
        refuse(text, 'must be the name of a set, 1 to 31 bytes long');
      return [text];
  }
}

function readAddresses(text: string, family: IpSetFamily): { ip: Ip; prefix: number }[] {
  const bits = bitsOf(family);
  const expected = `must be an ${family === 'inet' ? 'IPv4' : 'IPv6'} address, alone, with /prefix or as a range with '-'`;
  const [, first = '', separator, last = ''] = /^([^/-]+)(?:([/-])(.+))?$/.exec(text) ?? [];
  const ip = parseIp(first);
  if (ip === undefined || ip.family !== family) refuse(text, expected);
  if (separator === '-') {
    const to = parseIp(last);
    if (to === undefined || to.family !== family) refuse(text, expected);
    return networksOf(ip, to);
  }
  const prefix = separator === undefined ? bits : Number(last);
  if (separator !== undefined && (!/^\d+$/.test(last) || prefix > bits)) refuse(text, expected);
  return [{ ip: networkOf(ip, prefix), prefix }];
}

// The fewest networks that cover the range and nothing else.
function networksOf(from: Ip, to: Ip): { ip: Ip; prefix: number }[] {
  const bits = bitsOf(from.family);
  const networks: { ip: Ip; prefix: number }[] = [];
  const [first, last] = from.value <= to.value ? [from.value, to.value] : [to.value, from.value];
  for (let value = first; value <= last; ) {
    let host = 0n;
    while (host < BigInt(bits) && (value & ((2n << host) - 1n)) === 0n && value + (2n << host) - 1n <= last)
      host++;
    networks.push({ ip: { family: from.family, value }, prefix: bits - Number(host) });
    value += 1n << host;
  }
  return networks;
}

function hostsOf(ip: Ip, prefix: number): Value[] {
  const bits = bitsOf(ip.family);
  return Array.from({ length: 2 ** Math.min(bits - prefix, 16) }, (_, i) => ({
    ip: { family: ip.family, value: ip.value + BigInt(i) },
    prefix: bits,
  }));
}

function readPorts(text: string): string[] {
  const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last ?? first)].sort((a, b) => a - b);
  if (first === undefined || from === undefined || to === undefined || to > 65535)
    refuse(text, 'must be a port or a range of ports, like 80 or 8000-8080');
  return Array.from({ length: to - from + 1 }, (_, i) => String(from + i));
}

function readProtocol(text: string): string[] {
  const colon = text.indexOf(':');
  if (colon < 0) return readPorts(text).map((port) => `tcp:${port}`);
  const protocol = text.slice(0, colon);
  if (!/^(tcp|udp|sctp|udplite|gre|esp|ah|icmp|icmpv6|\d+)$/.test(protocol))
    refuse(protocol, 'must be a protocol, like tcp, udp, sctp or a number');
  const rest = text.slice(colon + 1);
  if (protocol.startsWith('icmp')) {
    if (!/^\d+\/\d+$/.test(rest)) refuse(text, 'must tell type and code in numbers, like icmp:8/0');
    return [text];
  }
  return readPorts(rest).map((port) => `${protocol}:${port}`);
}
