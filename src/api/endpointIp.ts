// Which addresses traffic of a Service may be sent to, or taken from: none that mean the machine or link they are used on. Pure.
// Guarantees: the ranges and the words are Kubernetes'; an IPv4 address in IPv6 notation is judged as the IPv4 address.
import { type Cidr, type Ip, parseCidr, parseIp } from './ip.js';

const MAPPED = 0xffffn;

const RANGES: readonly (readonly [why: string, ...networks: string[]])[] = [
  ['may not be in the loopback range (127.0.0.0/8, ::1/128)', '127.0.0.0/8', '::1/128'],
  ['may not be in the link-local range (169.254.0.0/16, fe80::/10)', '169.254.0.0/16', 'fe80::/10'],
  ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)', '224.0.0.0/24', 'ff02::/16'],
];
const RULES = RANGES.map(([why, ...networks]) => ({
  why,
  networks: networks.map(parseCidr).filter((network) => network !== undefined),
}));

/** Why the address is refused; empty for one that is allowed, and for what is no address. */
export function endpointIpFaults(text: string): string[] {
  const ip = plain(parseIp(text));
  if (ip === undefined) return [];
  if (ip.value === 0n) return [`may not be unspecified (${text})`];
  return RULES.filter(({ networks }) => networks.some((network) => isIn(network, ip))).map(({ why }) => why);
}

function plain(ip: Ip | undefined): Ip | undefined {
  if (ip?.family !== 'IPv6' || ip.value >> 32n !== MAPPED) return ip;
  return { family: 'IPv4', value: ip.value & 0xffff_ffffn };
}

function isIn({ family, base, prefix }: Cidr, ip: Ip): boolean {
  const host = BigInt((family === 'IPv4' ? 32 : 128) - prefix);
  return family === ip.family && ip.value >> host === base >> host;
}
