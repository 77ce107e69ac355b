// The short-lived table that asks the kernel to trace one packet, and sees where it leaves the node or arrives in it. Pure.
// Guarantees: it decides nothing, and changes no table but itself; the kernel removes it with the socket that wrote it, also
// when its process is killed.
import {
  counter,
  ctState,
  dport,
  ip6Daddr,
  ip6Saddr,
  ipDaddr,
  ipSaddr,
  l4proto,
  type Part,
  rule,
  sport,
  traced,
} from '../../kernel/nftables/expressions.js';
import type { BaseChain, NftRequest } from '../../kernel/nftables/port.js';
import type { Probe } from '../../kernel/probe.js';

/** Where a packet ends that goes on to a pod or to another machine. */
export const LEFT = 'left';
/** Where one ends that is for the node itself. */
export const ARRIVED = 'arrived';

/** After connection tracking, before any translation: only the first packet of the connection is traced. */
const BEGIN = -190;
/** After everybody else. */
const END = 400;

export function traceRequests(name: string, probe: Probe): NftRequest[] {
  const isSix = probe.from.includes(':');
  const place = { family: isSix ? 'ip6' : 'ip', table: name } as const;
  const chain = (of: string, hook: BaseChain['hook'], priority: number, ...parts: Part[]): NftRequest[] => [
    { do: 'add', kind: 'chain', ...place, name: of, type: 'filter', hook, priority },
    { do: 'add', kind: 'rule', ...place, chain: of, expressions: rule(...parts) },
  ];
  const { from, fromPort, to, toPort, protocol } = probe;
  return [
    { do: 'create', kind: 'table', family: place.family, name, flags: ['owner'] },
    ...chain(
      'begin',
      'prerouting',
      BEGIN,
      l4proto(protocol),
      ...(isSix ? [ip6Saddr(from), ip6Daddr(to)] : [ipSaddr(from), ipDaddr(to)]),
      sport(fromPort),
      dport(toPort),
      ctState('new'),
      traced,
    ),
    // Every packet meets these; the kernel tells of the traced one.
    ...chain(LEFT, 'postrouting', END, counter),
    ...chain(ARRIVED, 'input', END, counter),
  ];
}
