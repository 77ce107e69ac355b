// The structs of xtables' matches and targets, as the iptables tool fills them in. Pure.
// Guarantees: byte for byte what the tool sends; zeros at the end are left to `length`.
import { addressBytes, bigEndian, hostOrder, textBytes } from '../../nftables/bytes.js';
import type { Hex, XtExtension } from '../../nftables/expression.js';

/** Fields one behind the other; each says how many bytes it takes. */
const fields = (...parts: readonly Hex[]): Hex => parts.join('').replace(/(?:00)+$/, '');
const zeros = (bytes: number): Hex => '00'.repeat(bytes);
const text = (value: string): Hex => textBytes(value, 0);

const extension = (name: string, revision: number, length: number, info: Hex): XtExtension => ({
  name,
  revision,
  length,
  info,
});

/** struct xt_comment_info holds 255 bytes and a NUL. */
export const COMMENT_BYTES = 256;
export const comment = (words: string) => extension('comment', 0, COMMENT_BYTES, text(words));

export const CT_STATES = { INVALID: 1, ESTABLISHED: 2, RELATED: 4, NEW: 8, DNAT: 128 } as const;
/** struct xt_conntrack_mtinfo3: 146 bytes of addresses, lifetimes and ports that are not compared come first. */
export const conntrack = (states: number) =>
  extension('conntrack', 3, 168, fields(zeros(146), hostOrder(1, 2), zeros(2), hostOrder(states, 2)));

/** struct xt_addrtype_info_v1; bit two is "local". */
export const addrtype = (which: 'src' | 'dst') =>
  extension('addrtype', 1, 8, which === 'src' ? '04' : '000004');

/** struct xt_statistic_info, mode random; the tool leaves the chance in the counter of the other mode, too. */
export const statistic = (chance: number) =>
  extension('statistic', 0, 24, fields(zeros(4), hostOrder(chance), zeros(4), hostOrder(chance)));

const RECENT = { rcheck: 0x01, set: 0x02, reap: 0x20 } as const;
export interface Recent {
  readonly does: readonly (keyof typeof RECENT)[];
  readonly seconds?: number;
  readonly name: string;
  readonly mask: string;
}
/** struct xt_recent_mtinfo_v1, by source address. */
export const recent = ({ does, seconds = 0, name, mask }: Recent) =>
  extension(
    'recent',
    1,
    232,
    fields(
      hostOrder(seconds),
      zeros(4),
      hostOrder(
        does.reduce((bits, word) => bits | RECENT[word], 0),
        1,
      ),
      zeros(1),
      textBytes(name, 200),
      zeros(2), // the side, and a gap
      addressBytes(mask),
    ),
  );

/** struct xt_tcp and xt_udp: from any port to one, or to any, which is what "-m tcp" alone means. */
export const ports = (protocol: 'tcp' | 'udp', to?: number) =>
  extension(protocol, 0, 16, fields('0000ffff', to === undefined ? '0000ffff' : hostOrder(to, 2).repeat(2)));

/** struct xt_mark_mtinfo1. */
export const hasMark = (value: number, mask: number, isNot: boolean) =>
  extension('mark', 1, 16, fields(hostOrder(value), hostOrder(mask), isNot ? '01' : ''));

/** struct xt_sctp_info: its chunks are marked as not used by a type of 255. */
export const sctp = (port?: number) => {
  const ports = port === undefined ? zeros(4) : hostOrder(port, 2).repeat(2);
  const flags = hostOrder(port === undefined ? 0 : 2);
  return extension('sctp', 0, 296, fields(ports, zeros(264), 'ff0000'.repeat(4), zeros(4), flags));
};

export const setMark = (value: number, mask: number) =>
  extension('MARK', 2, 8, fields(hostOrder(value), hostOrder(mask)));

/** What the tool calls them, by the numbers of struct ipt_reject_info and ip6t_reject_info. */
const REJECTIONS = { 'icmp-port-unreachable': 3, 'icmp6-port-unreachable': 4 } as const;
export const reject = (how: keyof typeof REJECTIONS) =>
  extension('REJECT', 0, 8, hostOrder(REJECTIONS[how], 1));

const MAP_IPS = 1;
const PORTS_GIVEN = 2;
const FULLY_RANDOM = 0x10;

/** struct nf_nat_range2. */
export function dnat(ip: string, port: number): XtExtension {
  const address = addressBytes(ip).padEnd(32, '0');
  const ports = bigEndian(port, 2).repeat(2);
  return extension('DNAT', 2, 48, fields(hostOrder(MAP_IPS | PORTS_GIVEN), address, address, ports));
}

export type NatFamily = 'ip' | 'ip6';
/** struct nf_nat_ipv4_multi_range_compat, or for IPv6 struct nf_nat_range. */
const range = (name: string, family: NatFamily, flags: number, ports: Hex): XtExtension =>
  family === 'ip'
    ? extension(name, 0, 24, fields(hostOrder(1), hostOrder(flags), zeros(8), ports))
    : extension(name, 0, 40, fields(hostOrder(flags), zeros(32), ports));

export const masquerade = (family: NatFamily, isRandom: boolean) =>
  range('MASQUERADE', family, isRandom ? FULLY_RANDOM : 0, '');
export const redirect = (family: NatFamily, port: number) =>
  range('REDIRECT', family, PORTS_GIVEN, bigEndian(port, 2).repeat(2));
