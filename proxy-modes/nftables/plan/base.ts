// What the table holds whatever the services are: hooks, sets, masquerading, rejection. Pure.

import {
  ctState,
  ctStatus,
  fibType,
  flipMarkBits,
  inSet,
  jump,
  markBits,
  masquerade,
  reject,
  returns,
  rule,
  setMarkBits,
  vmapLookup,
} from '../../../src/kernel/nftables/expressions.js';
import type { Chain, NftRequest, NftSet } from '../../../src/kernel/nftables/port.js';
import type { IpFamily } from '../../../src/proxy/state.js';
import * as names from '../names.js';

/** kube-proxy's own bit of the packet mark (--iptables-masquerade-bit 14). */
const MASQUERADE_BIT = 0x4000;
/** Just after the usual priorities, so that a firewall of the host speaks first. */
const PRIORITY = { dstnat: -100, filter: 0, srcnat: 100 };

export interface TableName {
  readonly family: IpFamily;
  readonly table: string;
}

/** An empty table of ours, whatever was there before; to be followed by `base` in the same transaction. */
export function freshTable({ family, table: name }: TableName): NftRequest[] {
  return [
    { do: 'add', kind: 'table', family, name },
    { do: 'delete', kind: 'table', family, name },
    { do: 'add', kind: 'table', family, name, comment: 'Trellis: rules for services' },
  ];
}

/** Every set of the table and the type of its key. */
export function sets({ family, table }: TableName): Readonly<Record<string, NftSet>> {
  const address = family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  const ipPort = {
    family,
    table,
    type: [address, 'inet_proto', 'inet_service'],
    mapType: ['verdict'],
  } as const;
  const nodePort = { family, table, type: ['inet_proto', 'inet_service'], mapType: ['verdict'] } as const;
  return {
    [names.SERVICE_IPS]: { ...ipPort, name: names.SERVICE_IPS },
    [names.NODE_PORTS]: { ...nodePort, name: names.NODE_PORTS },
    [names.REJECTED_IPS]: { ...ipPort, name: names.REJECTED_IPS },
    [names.REJECTED_NODE_PORTS]: { ...nodePort, name: names.REJECTED_NODE_PORTS },
    [names.HAIRPIN]: { family, table, type: [address, address], name: names.HAIRPIN },
  };
}

export function base(place: TableName): NftRequest[] {
  return [
    ...chains(place).map((chain): NftRequest => ({ do: 'add', kind: 'chain', ...chain })),
    ...Object.values(sets(place)).map((set): NftRequest => ({ do: 'add', kind: 'set', ...set })),
    ...rules(place),
  ];
}

function chains({ family, table }: TableName): Chain[] {
  const plain = [names.SERVICES, names.MARK_FOR_MASQUERADE, names.NO_ENDPOINTS, names.REJECT];
  const hooks = [
    { name: 'nat-prerouting', type: 'nat', hook: 'prerouting', priority: PRIORITY.dstnat },
    { name: 'nat-output', type: 'nat', hook: 'output', priority: PRIORITY.dstnat },
    { name: 'nat-postrouting', type: 'nat', hook: 'postrouting', priority: PRIORITY.srcnat },
    { name: 'filter-input', type: 'filter', hook: 'input', priority: PRIORITY.filter },
    { name: 'filter-forward', type: 'filter', hook: 'forward', priority: PRIORITY.filter },
    { name: 'filter-output', type: 'filter', hook: 'output', priority: PRIORITY.filter },
  ] as const;
  return [...plain.map((name) => ({ name })), ...hooks].map((chain) => ({ family, table, ...chain }));
}

function rules(place: TableName): NftRequest[] {
  const { family } = place;
  const daddr = family === 'ip' ? 'ip daddr' : 'ip6 daddr';
  const saddr = family === 'ip' ? 'ip saddr' : 'ip6 saddr';
  const local = fibType(['daddr'], 'local');
  const inChain = (chain: string, expressions: ReturnType<typeof rule>): NftRequest => ({
    do: 'add',
    kind: 'rule',
    ...place,
    chain,
    expressions,
  });
  const checked = ['filter-input', 'filter-forward', 'filter-output'];
  return [
    ...['nat-prerouting', 'nat-output'].map((chain) => inChain(chain, rule(jump(names.SERVICES)))),
    inChain(names.SERVICES, rule(vmapLookup(names.SERVICE_IPS, daddr, 'meta l4proto', 'th dport'))),
    inChain(names.SERVICES, rule(local, vmapLookup(names.NODE_PORTS, 'meta l4proto', 'th dport'))),
    inChain(names.MARK_FOR_MASQUERADE, rule(setMarkBits(MASQUERADE_BIT))),
    // A pod that reached itself through its service: without another source it would answer itself directly.
    inChain(
      'nat-postrouting',
      rule(ctStatus('dnat'), inSet(names.HAIRPIN, saddr, daddr), masquerade('fully-random')),
    ),
    inChain('nat-postrouting', rule(markBits(MASQUERADE_BIT, 'neq'), returns)),
    // The mark is taken off again: the packet may be encapsulated and pass here once more.
    inChain('nat-postrouting', rule(flipMarkBits(MASQUERADE_BIT), masquerade('fully-random'))),
    ...checked.map((chain) => inChain(chain, rule(ctState('new'), jump(names.NO_ENDPOINTS)))),
    inChain(names.NO_ENDPOINTS, rule(vmapLookup(names.REJECTED_IPS, daddr, 'meta l4proto', 'th dport'))),
    inChain(
      names.NO_ENDPOINTS,
      rule(local, vmapLookup(names.REJECTED_NODE_PORTS, 'meta l4proto', 'th dport')),
    ),
    inChain(names.REJECT, rule(reject(family, 'port-unreachable'))),
  ];
}
