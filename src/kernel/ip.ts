// IP addresses as numbers, for the fakes: text in, text out as the kernel's tools write it.
// Guarantees: parseIp accepts what inet_pton accepts; formatIp writes what inet_ntop writes.
import { parseIp as parse, formatIp as shortest } from '../api/ip.js';

export interface Ip {
  readonly family: 'inet' | 'inet6';
  readonly value: bigint;
}

export const bitsOf = (family: Ip['family']): number => (family === 'inet' ? 32 : 128);

/** undefined when the text is no address. */
export function parseIp(text: string): Ip | undefined {
  const ip = parse(text);
  return ip && { family: ip.family === 'IPv4' ? 'inet' : 'inet6', value: ip.value };
}

export function formatIp({ family, value }: Ip): string {
  if (family === 'inet') return shortest({ family: 'IPv4', value });
  // inet_ntop, unlike Go, writes these with dots.
  if (value >> 32n === 0xffffn) return `::ffff:${shortest({ family: 'IPv4', value: value & 0xffffffffn })}`;
  return shortest({ family: 'IPv6', value });
}

/** The first address of the network that holds this one. */
export function networkOf(ip: Ip, prefix: number): Ip {
  const host = BigInt(bitsOf(ip.family) - prefix);
  return { family: ip.family, value: (ip.value >> host) << host };
}
