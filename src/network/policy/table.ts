// The frame of a table of network policies: hooks, the order of judgement, and the sets that every pod is in. Pure.
// Guarantees: packets of connections that were allowed pass at once; an address of this node's pods that has not been
// judged yet neither sends nor receives; the node itself reaches its pods and is reached by them.
import {
  accept,
  atMost,
  counter,
  ctState,
  drop,
  fibType,
  goTo,
  inSet,
  ip6Daddr,
  ip6Saddr,
  ipDaddr,
  jump,
  l4proto,
  mapLookup,
  matchPayload,
  notInSet,
  type Part,
  reject,
  rule,
  traced,
} from '../../kernel/nftables/expressions.js';
import { DIRECTIONS, type Direction } from './model.js';
import * as names from './names.js';
import { type RuleShape, TableImage } from './tableImage.js';

export type PolicyFamily = 'ip' | 'ip6';
export const FAMILIES: readonly PolicyFamily[] = ['ip', 'ip6'];

/** After a firewall of the host, and after the proxy's own refusals. */
const PRIORITY: Readonly<Record<Direction, number>> = { egress: 10, ingress: 11 };

/** Of each chain that drops: what is traced costs the listener a message. */
const TRACED_PER_SECOND = 100;

export const addressType = (family: PolicyFamily) => (family === 'ip' ? 'ipv4_addr' : 'ipv6_addr');
export const sourceField = (family: PolicyFamily) => (family === 'ip' ? 'ip saddr' : 'ip6 saddr');
export const destinationField = (family: PolicyFamily) => (family === 'ip' ? 'ip daddr' : 'ip6 daddr');

export const shape = (...parts: readonly Part[]): RuleShape => ({ expressions: rule(...parts) });

const icmp6Types = (from: string, to: string): Part => [
  ...l4proto('icmpv6'),
  ...matchPayload({ base: 'transport', offset: 0, length: 1 }, from, 'gte'),
  ...matchPayload({ base: 'transport', offset: 0, length: 1 }, to, 'lte'),
];
/** ICMPv6 types 133 to 137: routers, neighbours and redirects, without which a link of IPv6 does not work. */
const neighbourDiscovery = icmp6Types('85', '89');

/**
 * Addresses that are everybody's on a link, or that a pod has beside its own: of groups, broadcast and IPv6 link-local. Only a
 * bridge hands such packets on, from one pod to another, and nobody can say whose policies are meant.
 */
const OF_LINKS: Readonly<Record<PolicyFamily, readonly Part[]>> = {
  ip: [ipDaddr('224.0.0.0/3')],
  ip6: [ip6Daddr('ff00::/8'), ip6Daddr('fe80::/10'), ip6Saddr('fe80::/10')],
};
/** Who listens to which group: of IGMP all, of ICMPv6 types 130 to 132 and 143. */
const LISTENERS: Readonly<Record<PolicyFamily, readonly Part[]>> = {
  ip: [[...ipDaddr('224.0.0.0/4'), ...l4proto('igmp')]],
  ip6: [
    [...ip6Daddr('ff00::/8'), ...icmp6Types('82', '84')],
    [...ip6Daddr('ff00::/8'), ...icmp6Types('8f', '8f')],
  ],
};

function closingLinks(family: PolicyFamily): RuleShape[] {
  const isClosed = inSet(names.CLOSED_LINKS, 'meta iifname');
  return [
    ...LISTENERS[family].map((listening) => shape(listening, accept)),
    ...OF_LINKS[family].map((place) => shape(place, isClosed, goTo(names.refusedChain('egress')))),
  ];
}

/**
 * Each direction has a base chain of its own: what one accepts goes on to the other, so that no chain of one direction leads
 * to those of the other, and the kernel, which walks every way through a table when a rule comes, walks each chain once.
 */
export function frame(
  family: PolicyFamily,
  { table, tracesRefused = false }: { readonly table: string; readonly tracesRefused?: boolean },
): TableImage {
  const image = new TableImage({
    family,
    table,
    comment: 'Trellis: network policies',
    // Without a pod, a range of pods or a link of theirs there is nobody to judge.
    neededFor: [names.POD_RANGES, names.JUDGED, names.CLOSED_LINKS],
  });
  const address = addressType(family);
  image.putSet({ name: names.JUDGED, type: [address] });
  image.putSet({ name: names.POD_RANGES, type: [address], flags: ['interval'] });
  image.putSet({ name: names.CLOSED_LINKS, type: ['ifname'] });
  image.putSet({
    name: names.ENDED,
    type: [address, 'inet_service', address, 'inet_service'],
  });
  image.putSet({ name: names.SELF, type: [address, address] });
  const dropping = [
    ...(tracesRefused ? [shape(atMost(TRACED_PER_SECOND), traced, counter, drop)] : []),
    shape(counter, drop),
  ];
  image.putChain({ name: names.UNJUDGED }, dropping);
  image.putChain({ name: names.MID_STREAM }, resetting(family));
  for (const direction of DIRECTIONS) {
    image.putSet({ name: names.SUBJECTS[direction], type: [address], mapType: ['mark'] });
    image.putSet({ name: names.PROFILES[direction], type: ['mark'], mapType: ['verdict'] });
    image.putChain({ name: names.refusedChain(direction) }, dropping);
    image.putChain({ name: names.judgeChain(direction) }, judging(family, direction));
    const base = (hook: 'forward' | 'output', exempt: readonly RuleShape[]) =>
      image.putChain(
        {
          name: names.hookChain(hook, direction),
          type: 'filter',
          hook,
          priority: PRIORITY[direction],
        },
        [
          shape(ctState('established', 'related'), accept),
          ...exempt,
          shape(goTo(names.judgeChain(direction))),
        ],
      );
    base('forward', []);
    // IPVS sends what it forwards through the output hook; the node's own packets have an address of the node.
    base('output', [shape(fibType(['saddr'], 'local'), accept)]);
  }
  return image;
}

/**
 * nft 1.0.6 dies when it lists a number that goes from one map straight to the next. So the number takes the way
 * over the priority of the packet, which is the first of its connection and has no use for one.
 */
const throughPriority: Part = [
  { meta: { key: 'priority', sreg: 1 } },
  { meta: { key: 'priority', dreg: 1 } },
];

function judging(family: PolicyFamily, direction: Direction): RuleShape[] {
  const [source, destination] = [sourceField(family), destinationField(family)] as const;
  const own = direction === 'ingress' ? destination : source;
  return [
    ...(family === 'ip6' ? [shape(neighbourDiscovery, accept)] : []),
    // Of either direction once: what comes that way has no pod's address.
    ...(direction === 'egress' ? closingLinks(family) : []),
    shape(inSet(names.SELF, source, destination), accept),
    ...(direction === 'egress' ? [shape(midStream, jump(names.MID_STREAM)), lateAnswers(family)] : []),
    shape(mapLookup(names.SUBJECTS[direction], own), throughPriority, [
      { lookup: { set: names.PROFILES[direction], sreg: 1, dreg: 0 } },
    ]),
    shape(inSet(names.POD_RANGES, own), notInSet(names.JUDGED, own), goTo(names.UNJUDGED)),
  ];
}

/**
 * Of a pod that any policy restricts, whichever way the packet goes: the end that a policy leaves free would else open the
 * connection anew with its next packet, and what the other end sends would be answers.
 */
function resetting(family: PolicyFamily): RuleShape[] {
  const ends = [sourceField(family), destinationField(family)] as const;
  return ends.flatMap((end) => [
    // Of a connection that lives, but not where its packets should be by now: a reset would end it, and it sends again anyway.
    shape(inSet(names.SELF, end, end), ctState('invalid'), drop),
    shape(inSet(names.SELF, end, end), reject(family, 'tcp-reset')),
  ]);
}

/** UDP has no first packet: what is sent on the way back of a connection that was ended would begin another. */
function lateAnswers(family: PolicyFamily): RuleShape {
  const ends = [sourceField(family), 'th sport', destinationField(family), 'th dport'] as const;
  return shape(l4proto('udp'), inSet(names.ENDED, ...ends), counter, drop);
}

/** TCP that begins in the middle: of a connection that was cut, or of one that was never judged. */
const midStream: Part = [
  ...l4proto('tcp'),
  { payload: { base: 'transport', offset: 13, length: 1, dreg: 1 } },
  { bitwise: { sreg: 1, dreg: 1, length: 1, mask: '17', xor: '00' } },
  { cmp: { sreg: 1, op: 'neq', value: '02' } },
];
