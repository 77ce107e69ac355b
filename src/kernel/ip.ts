// IP addresses as numbers, for the fakes: text in, text out as the kernel's tools write it.
// Guarantees: parseIp accepts what inet_pton accepts; formatIp writes what inet_ntop writes.
import { isIP } from 'node:net';

export interface Ip {
  readonly family: 'inet' | 'inet6';
  readonly value: bigint;
}

export const bitsOf = (family: Ip['family']): number => (family === 'inet' ? 32 : 128);

/** undefined when the text is no address. */
export function parseIp(text: string): Ip | undefined {
  const version = text.includes('%') ? 0 : isIP(text);
  if (version === 4) return { family: 'inet', value: parseV4(text) };
  if (version !== 6) return undefined;
  const tail = text.lastIndexOf(':') + 1;
  const dotted = text.includes('.') ? parseV4(text.slice(tail)) : undefined;
  const plain =
    dotted === undefined
      ? text
      : `${text.slice(0, tail)}${(dotted >> 16n).toString(16)}:${(dotted & 0xffffn).toString(16)}`;
  const [head = '', rest] = plain.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = rest === undefined || rest === '' ? [] : rest.split(':');
  const words = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  return {
    family: 'inet6',
    value: words.reduce((sum, word) => (sum << 16n) | BigInt(Number.parseInt(word, 16)), 0n),
  };
}

export function formatIp({ family, value }: Ip): string {
  if (family === 'inet') return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');
  const words = Array.from({ length: 8 }, (_, i) => Number((value >> BigInt(112 - 16 * i)) & 0xffffn));
  if (value >> 32n === 0xffffn) return `::ffff:${formatIp({ family: 'inet', value: value & 0xffffffffn })}`;
  const { start, length } = longestZeros(words);
  const hex = (some: readonly number[]) => some.map((word) => word.toString(16)).join(':');
  if (length < 2) return hex(words);
  return `${hex(words.slice(0, start))}::${hex(words.slice(start + length))}`;
}

/** The first address of the network that holds this one. */
export function networkOf(ip: Ip, prefix: number): Ip {
  const host = BigInt(bitsOf(ip.family) - prefix);
  return { family: ip.family, value: (ip.value >> host) << host };
}

const parseV4 = (text: string): bigint =>
  text.split('.').reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);

function longestZeros(words: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < words.length; start++) {
    let end = start;
    while (end < words.length && words[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
    start = Math.max(start, end - 1);
  }
  return best;
}
