// A rule as expressions of nf_tables, the way iptables' nft back end writes it. Pure.
// Guarantees: byte for byte what the tool would send, in its order.
import { bigEndian, hostOrder, maskBytes, textBytes } from '../../nftables/bytes.js';
import type { Expression } from '../../nftables/expression.js';
import * as xt from './extensions.js';
import { type Device, type Match, type Network, PROTOCOLS, type Protocol, type Rule } from './rule.js';

interface NftRule {
  readonly expressions: readonly Expression[];
  /** The number of "-p", which extensions are told. */
  readonly protocol?: number;
}

export function nftRule({ source, destination, device, protocol, matches, target }: Rule): NftRule {
  const number = protocol === undefined ? undefined : PROTOCOLS[protocol];
  return {
    expressions: [
      ...(device === undefined ? [] : [meta('iifname'), deviceName(device)]),
      ...(number === undefined ? [] : [meta('l4proto'), compare(false, bigEndian(number, 1))]),
      ...(source === undefined ? [] : address('source', source)),
      ...(destination === undefined ? [] : address('destination', destination)),
      ...matches.flatMap((match) => matched(match, protocol)),
      { counter: {} },
      'extension' in target
        ? { target: target.extension }
        : { immediate: { verdict: 'jump' in target ? `jump ${target.jump}` : target.verdict } },
    ],
    ...(number === undefined ? {} : { protocol: number }),
  };
}

const meta = (key: 'l4proto' | 'mark' | 'iifname'): Expression => ({ meta: { key, dreg: 1 } });
const compare = (isNot: boolean, value: string): Expression => ({
  cmp: { sreg: 1, op: isNot ? 'neq' : 'eq', value },
});

function matched(match: Match, protocol: Protocol | undefined): Expression[] {
  if ('extension' in match) return [{ match: match.extension }];
  if ('mark' in match) {
    const { value, mask, isNot } = match.mark;
    return [
      meta('mark'),
      { bitwise: { sreg: 1, dreg: 1, length: 4, mask: hostOrder(mask), xor: '00000000' } },
      compare(isNot, hostOrder(value)),
    ];
  }
  const port = match.port === 'any' ? undefined : match.port;
  if (protocol === 'sctp') return [{ match: xt.sctp(port) }];
  if (port === undefined) return protocol === undefined ? [] : [{ match: xt.ports(protocol) }];
  return [
    { payload: { base: 'transport', offset: 2, length: 2, dreg: 1 } },
    compare(false, bigEndian(port, 2)),
  ];
}

/** "veth+" compares what comes before the plus; a whole name is compared with the NUL that ends it. */
const deviceName = ({ name, isNot }: Device): Expression =>
  compare(isNot, name.endsWith('+') ? textBytes(name.slice(0, -1), 0) : textBytes(name, name.length + 1));

const PLACES = {
  4: { source: 12, destination: 16 },
  16: { source: 8, destination: 24 },
} as const;

/** Whole bytes of a prefix are compared as they are; others need a mask. */
function address(which: 'source' | 'destination', { address: value, ones, isNot }: Network): Expression[] {
  const length = value.length === 8 ? 4 : 16;
  const load = (bytes: number): Expression => ({
    payload: { base: 'network', offset: PLACES[length][which], length: bytes, dreg: 1 },
  });
  if (ones % 8 === 0) return [load(ones / 8), compare(isNot, value.slice(0, ones / 4))];
  const mask = maskBytes(ones, length);
  const network = bigEndian(BigInt(`0x${value}`) & BigInt(`0x${mask}`), length);
  return [
    load(length),
    { bitwise: { sreg: 1, dreg: 1, length, mask, xor: '00'.repeat(length) } },
    compare(isNot, network),
  ];
}
