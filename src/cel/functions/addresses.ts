// IP addresses and networks in expressions.
// Guarantees: no zones and no IPv4 written as IPv6, as Kubernetes wants it.
import { type Cidr, contains, formatIp, type Ip, parseCidr, parseIp } from '../../api/ip.js';
import { evaluationError } from '../error.js';
import { type Overload, overload, readsFirst } from '../signature.js';
import { CidrValue, IpValue, type Value } from '../values.js';

const isMapped = ({ family, value }: Ip) => family === 'IPv6' && value >> 32n === 0xffffn;

function readIp(text: string): Ip | undefined {
  const ip = text.length > 64 ? undefined : parseIp(text);
  return ip === undefined || isMapped(ip) ? undefined : ip;
}

function readCidr(text: string): CidrValue | undefined {
  const cidr = text.length > 64 ? undefined : parseCidr(text);
  const address = cidr && readIp(text.slice(0, text.indexOf('/')));
  return cidr === undefined || address === undefined ? undefined : new CidrValue(cidr, address);
}

function ip(text: string): IpValue {
  const found = readIp(text);
  if (found === undefined)
    throw evaluationError(`IP Address "${text.slice(0, 64)}" parse error during conversion from string`);
  return new IpValue(found);
}

function cidr(text: string): CidrValue {
  const found = readCidr(text);
  if (found === undefined)
    throw evaluationError(`CIDR "${text.slice(0, 64)}" parse error during conversion from string`);
  return found;
}

const of = (value: Value | undefined): Ip => (value as IpValue).ip;
const netOf = (value: Value | undefined): CidrValue => value as CidrValue;

const inside = (base: string) => {
  const network = parseCidr(base) as Cidr;
  return (address: Ip) => address.family === network.family && contains(network, address);
};
const oneOf =
  (...networks: readonly string[]) =>
  (address: Ip) =>
    networks.some((network) => inside(network)(address));
const isUnspecified = ({ value }: Ip) => value === 0n;
const isLoopback = oneOf('127.0.0.0/8', '::1/128');
const isMulticast = oneOf('224.0.0.0/4', 'ff00::/8');
const isLinkLocalMulticast = oneOf('224.0.0.0/24', 'ff02::/16');
const isLinkLocalUnicast = oneOf('169.254.0.0/16', 'fe80::/10');
const isBroadcast = oneOf('255.255.255.255/32');
const isGlobalUnicast = (address: Ip) =>
  ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast, isBroadcast].some((is) => is(address));

const question = (name: string, holds: (address: Ip) => boolean) =>
  overload(`IP.${name}(): bool`, ([address]) => holds(of(address)));

const ips: Overload[] = [
  overload('ip(string): IP', ([text]) => ip(text as string), readsFirst()),
  overload('isIP(string): bool', ([text]) => readIp(text as string) !== undefined, readsFirst()),
  overload(
    'ip.isCanonical(string): bool',
    ([text]) => formatIp(ip(text as string).ip) === text,
    readsFirst(2),
  ),
  overload('IP.family(): int', ([address]) => (of(address).family === 'IPv4' ? 4n : 6n)),
  overload('string(IP): string', ([address]) => formatIp(of(address))),
  question('isUnspecified', isUnspecified),
  question('isLoopback', isLoopback),
  question('isLinkLocalMulticast', isLinkLocalMulticast),
  question('isLinkLocalUnicast', isLinkLocalUnicast),
  question('isGlobalUnicast', isGlobalUnicast),
];

const holds = (network: Cidr, address: Ip) => network.family === address.family && contains(network, address);
const holdsNet = (network: Cidr, other: CidrValue) =>
  other.cidr.prefix >= network.prefix &&
  holds(network, { family: other.cidr.family, value: other.cidr.base });

const cidrs: Overload[] = [
  overload('cidr(string): CIDR', ([text]) => cidr(text as string), readsFirst()),
  overload('isCIDR(string): bool', ([text]) => readCidr(text as string) !== undefined, readsFirst()),
  overload('string(CIDR): string', ([net]) => `${formatIp(netOf(net).address)}/${netOf(net).cidr.prefix}`),
  overload('CIDR.containsIP(IP): bool', ([net, address]) => holds(netOf(net).cidr, of(address))),
  overload('CIDR.containsIP(string): bool', ([net, text]) => holds(netOf(net).cidr, ip(text as string).ip)),
  overload('CIDR.containsCIDR(CIDR): bool', ([net, other]) => holdsNet(netOf(net).cidr, netOf(other))),
  overload('CIDR.containsCIDR(string): bool', ([net, text]) =>
    holdsNet(netOf(net).cidr, cidr(text as string)),
  ),
  overload('CIDR.ip(): IP', ([net]) => new IpValue(netOf(net).address)),
  overload('CIDR.prefixLength(): int', ([net]) => BigInt(netOf(net).cidr.prefix)),
  overload('CIDR.masked(): CIDR', ([net]) => {
    const { cidr: network } = netOf(net);
    return new CidrValue(network, { family: network.family, value: network.base });
  }),
];

export const ADDRESSES: readonly Overload[] = [...ips, ...cidrs];
