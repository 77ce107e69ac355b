// What the table holds whatever the services are: hooks, sets, masquerading, rejection. Pure.

import {
  ctState,
  ctStatus,
  drop,
  fibType,
  flipMarkBits,
  goTo,
  inSet,
  ip6Daddr,
  ipDaddr,
  jump,
  markBits,
  masquerade,
  type Part,
  reject,
  returns,
  rule,
  setMarkBits,
  vmapLookup,
} from '../../../src/kernel/nftables/expressions.js';
import type { Chain, NftRequest, NftSet } from '../../../src/kernel/nftables/port.js';
import { type IpFamily, masqueradeMark, type TrafficOptions } from '../../mode.js';
import * as names from '../names.js';

/** Just after the usual priorities, so that a firewall of the host speaks first. */
const PRIORITY = { beforeDstnat: -110, dstnat: -100, filter: 0, srcnat: 100 };

export interface TableName {
  readonly family: IpFamily;
  readonly table: string;
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
    // The last part is the number that was drawn.
    [names.ENDPOINTS]: {
      family,
      table,
      type: [address, 'inet_proto', 'inet_service', 'mark'],
      mapType: [address, 'inet_service'],
      name: names.ENDPOINTS,
    },
    [names.FIREWALL_IPS]: { ...ipPort, name: names.FIREWALL_IPS },
    [names.CLUSTER_IPS]: { family, table, type: [address], name: names.CLUSTER_IPS },
    [names.HAIRPIN]: { family, table, type: [address, address], name: names.HAIRPIN },
  };
}

/**
 * Clients of one endpoint; filled by the packets themselves. Without a size: the kernel would allocate all of it at
 * once, and sets a limit of 65,535 by itself where packets add elements.
 */
export function clientSet({ family, table }: TableName, name: string): NftSet {
  const type = [family === 'ip' ? 'ipv4_addr' : 'ipv6_addr'] as const;
  return { family, table, name, type, flags: ['dynamic', 'timeout'] };
}

export function base(place: TableName, options: TrafficOptions): NftRequest[] {
  return [
    ...chains(place).map((chain): NftRequest => ({ do: 'add', kind: 'chain', ...chain })),
    ...Object.values(sets(place)).map((set): NftRequest => ({ do: 'add', kind: 'set', ...set })),
    ...rules(place, options),
  ];
}

export const baseChains = (place: TableName): string[] => chains(place).map(({ name }) => name);

function chains({ family, table }: TableName): Chain[] {
  const plain = [
    names.SERVICES,
    names.MARK_FOR_MASQUERADE,
    names.NO_ENDPOINTS,
    names.REJECT,
    names.FIREWALL,
    names.CLUSTER_IPS_CHECK,
  ];
  const hooks = [
    {
      name: 'filter-prerouting-pre-dnat',
      type: 'filter',
      hook: 'prerouting',
      priority: PRIORITY.beforeDstnat,
    },
    { name: 'filter-output-pre-dnat', type: 'filter', hook: 'output', priority: PRIORITY.beforeDstnat },
    { name: 'nat-prerouting', type: 'nat', hook: 'prerouting', priority: PRIORITY.dstnat },
    { name: 'nat-output', type: 'nat', hook: 'output', priority: PRIORITY.dstnat },
    { name: 'nat-postrouting', type: 'nat', hook: 'postrouting', priority: PRIORITY.srcnat },
    { name: 'filter-input', type: 'filter', hook: 'input', priority: PRIORITY.filter },
    { name: 'filter-forward', type: 'filter', hook: 'forward', priority: PRIORITY.filter },
    { name: 'filter-output', type: 'filter', hook: 'output', priority: PRIORITY.filter },
  ] as const;
  return [...plain.map((name) => ({ name })), ...hooks].map((chain) => ({ family, table, ...chain }));
}

function rules(place: TableName, options: TrafficOptions): NftRequest[] {
  const { family } = place;
  const daddr = family === 'ip' ? 'ip daddr' : 'ip6 daddr';
  const saddr = family === 'ip' ? 'ip saddr' : 'ip6 saddr';
  const mark = masqueradeMark(options);
  const inChain = (chain: string, expressions: ReturnType<typeof rule>): NftRequest => ({
    do: 'add',
    kind: 'rule',
    ...place,
    chain,
    expressions,
  });
  const nodePorts = (chain: string, map: string) =>
    nodePortMatches(place, options).map((match) =>
      inChain(chain, rule(...match, vmapLookup(map, 'meta l4proto', 'th dport'))),
    );
  const guarded = ['filter-prerouting-pre-dnat', 'filter-output-pre-dnat'];
  const checked = ['filter-input', 'filter-forward', 'filter-output'];
  return [
    ...guarded.map((chain) => inChain(chain, rule(ctState('new'), jump(names.FIREWALL)))),
    inChain(names.FIREWALL, rule(vmapLookup(names.FIREWALL_IPS, daddr, 'meta l4proto', 'th dport'))),
    ...['nat-prerouting', 'nat-output'].map((chain) => inChain(chain, rule(jump(names.SERVICES)))),
    inChain(names.SERVICES, rule(vmapLookup(names.SERVICE_IPS, daddr, 'meta l4proto', 'th dport'))),
    ...nodePorts(names.SERVICES, names.NODE_PORTS),
    inChain(names.MARK_FOR_MASQUERADE, rule(setMarkBits(mark))),
    // A pod that reached itself through its service: without another source it would answer itself directly.
    inChain(
      'nat-postrouting',
      rule(ctStatus('dnat'), inSet(names.HAIRPIN, saddr, daddr), masquerade('fully-random')),
    ),
    inChain('nat-postrouting', rule(markBits(mark, 'neq'), returns)),
    // The mark is taken off again: the packet may be encapsulated and pass here once more.
    inChain('nat-postrouting', rule(flipMarkBits(mark), masquerade('fully-random'))),
    ...checked.map((chain) => inChain(chain, rule(ctState('new'), jump(names.NO_ENDPOINTS)))),
    inChain(names.NO_ENDPOINTS, rule(vmapLookup(names.REJECTED_IPS, daddr, 'meta l4proto', 'th dport'))),
    ...nodePorts(names.NO_ENDPOINTS, names.REJECTED_NODE_PORTS),
    // Without these a port or an address that no service has would be looked for by the default route.
    ...['filter-forward', 'filter-output'].map((chain) =>
      inChain(chain, rule(ctState('new'), jump(names.CLUSTER_IPS_CHECK))),
    ),
    inChain(names.CLUSTER_IPS_CHECK, rule(inSet(names.CLUSTER_IPS, daddr), goTo(names.REJECT))),
    ...(options.serviceCidrs ?? []).map((cidr) =>
      inChain(names.CLUSTER_IPS_CHECK, rule((family === 'ip' ? ipDaddr : ip6Daddr)(cidr), drop)),
    ),
    inChain(names.REJECT, rule(reject(family, 'port-unreachable'))),
  ];
}

/** What a packet to a node port must be, once for each network that has them. Loopback never: its packets cannot leave. */
function nodePortMatches({ family }: TableName, { nodePortCidrs }: TrafficOptions): Part[][] {
  const daddr = family === 'ip' ? ipDaddr : ip6Daddr;
  const own = [daddr(family === 'ip' ? '127.0.0.0/8' : '::1', 'neq'), fibType(['daddr'], 'local')];
  return nodePortCidrs === undefined ? [own] : nodePortCidrs.map((cidr) => [daddr(cidr), ...own]);
}
