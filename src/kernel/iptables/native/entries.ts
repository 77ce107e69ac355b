// A rule as an entry of a legacy table, the way iptables' legacy back end writes it. Pure.
// Guarantees: byte for byte what the tool would send; zeros at the end of a struct are left out.
import { bigEndian, hostOrder, maskBytes, textBytes } from '../../nftables/bytes.js';
import type { Hex, XtExtension } from '../../nftables/expression.js';
import * as xt from './extensions.js';
import { type Device, type Match, type Network, PROTOCOLS, type Protocol, type Rule } from './rule.js';

/** As the core takes it. */
export type LegacyRule = {
  /** struct ipt_ip or ip6t_ip6. */
  readonly head: Hex;
  readonly matches: readonly XtExtension[];
} & ({ readonly target: XtExtension } | { readonly jump: string } | { readonly verdict: string });

export function legacyRule(family: xt.NatFamily, rule: Rule): LegacyRule {
  const { matches, target, protocol } = rule;
  return {
    head: headOf(family, rule),
    matches: matches.map((match) => matched(match, protocol)),
    ...('extension' in target ? { target: target.extension } : target),
  };
}

function matched(match: Match, protocol: Protocol | undefined): XtExtension {
  if ('extension' in match) return match.extension;
  if ('mark' in match) return xt.hasMark(match.mark.value, match.mark.mask, match.mark.isNot);
  const port = match.port === 'any' ? undefined : match.port;
  return protocol === 'sctp' ? xt.sctp(port) : xt.ports(protocol ?? 'tcp', port);
}

const DEVICE_BYTES = 16;
const NOT = { device: 0x01, source: 0x08, destination: 0x10 } as const;
/** IPv6's struct is told that it has a protocol at all. */
const HAS_PROTOCOL = '01';

function headOf(family: xt.NatFamily, { source, destination, device, protocol }: Rule): Hex {
  const length = family === 'ip' ? 4 : 16;
  const [from, to] = [networkBytes(source, length), networkBytes(destination, length)];
  const [name, mask] = deviceBytes(device);
  const none = '00'.repeat(DEVICE_BYTES);
  const number = hostOrder(protocol === undefined ? 0 : PROTOCOLS[protocol], 2);
  const flags = family === 'ip' ? '00' : `00${protocol === undefined ? '00' : HAS_PROTOCOL}`;
  const inverted =
    (device?.isNot === true ? NOT.device : 0) |
    (source?.isNot === true ? NOT.source : 0) |
    (destination?.isNot === true ? NOT.destination : 0);
  const parts = [from.address, to.address, from.mask, to.mask, name, none, mask, none, number, flags];
  return `${parts.join('')}${bigEndian(inverted, 1)}`;
}

function networkBytes(network: Network | undefined, length: 4 | 16) {
  if (network === undefined) return { address: '00'.repeat(length), mask: '00'.repeat(length) };
  const mask = maskBytes(network.ones, length);
  return { address: bigEndian(BigInt(`0x${network.address}`) & BigInt(`0x${mask}`), length), mask };
}

/** "veth+" stands in the struct as it is; the mask leaves the plus out, and takes in the NUL that ends a whole name. */
function deviceBytes(device: Device | undefined): [name: Hex, mask: Hex] {
  if (device === undefined) return ['00'.repeat(DEVICE_BYTES), '00'.repeat(DEVICE_BYTES)];
  const { name } = device;
  const compared = name.endsWith('+') ? name.length - 1 : name.length + 1;
  return [textBytes(name, DEVICE_BYTES), 'ff'.repeat(compared).padEnd(2 * DEVICE_BYTES, '0')];
}
