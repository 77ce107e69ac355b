// nf_tables rules for the VXLAN packets between nodes: accepted only from nodes, and not tracked. Pure.
// Guarantees: one transaction replaces what was there, so packets of nodes that stay pass all the while; no stranger's packet
// reaches the device by whatever address of this node; packets of Services that use the same port, and of another cluster's
// device on another address, are left alone.
import type { Family } from '../../api/ip.js';
import { bigEndian } from '../../kernel/nftables/bytes.js';
import {
  dport,
  drop,
  inSet,
  ip6Daddr,
  ipDaddr,
  l4proto,
  matchPayload,
  notInSet,
  notrack,
  rule,
} from '../../kernel/nftables/expressions.js';
import type { NftRequest } from '../../kernel/nftables/port.js';

interface CarrierRules {
  readonly table: string;
  readonly family: Family;
  readonly port: number;
  readonly vni: number;
  /** This node's address between the nodes. */
  readonly own: string;
  /** Those of the others. */
  readonly peers: readonly string[];
}

const BEFORE_TRACKING = -300;
/** What rules or IPVS sent elsewhere does not come here. */
const BEFORE_DELIVERY = 200;
/** Behind the UDP header and the flags of VXLAN (RFC 7348, 5). */
const VNI = { base: 'transport', offset: 12, length: 3 } as const;
const NODES = 'nodes';
const FAMILIES = {
  IPv4: { family: 'ip', type: 'ipv4_addr', source: 'ip saddr', destination: 'ip daddr', toAddress: ipDaddr },
  IPv6: {
    family: 'ip6',
    type: 'ipv6_addr',
    source: 'ip6 saddr',
    destination: 'ip6 daddr',
    toAddress: ip6Daddr,
  },
} as const;

/**
 * Who sends such a packet speaks for any pod, so strangers are not heard. Tracking is left out since kernels before 5.7
 * break the checksum inside a packet whose own address is translated, and since it would be work for nothing.
 */
export function vxlanRules({ table, family: words, port, vni, own, peers }: CarrierRules): NftRequest[] {
  const { family, type, source, destination, toAddress } = FAMILIES[words];
  const at = { family, table } as const;
  const carriers = [l4proto('udp'), dport(port)];
  const arriving = [...carriers, toAddress(own)];
  const chains = [
    {
      hook: 'prerouting',
      priority: BEFORE_TRACKING,
      rules: [rule(...arriving, notInSet(NODES, source), drop), rule(...arriving, notrack)],
    },
    // The device hears packets of its VNI to every address of the node, its pods' gateway too. The port is for all VNIs.
    {
      hook: 'input',
      priority: BEFORE_DELIVERY,
      rules: [rule(...carriers, matchPayload(VNI, bigEndian(vni, 3)), notInSet(NODES, source), drop)],
    },
    {
      hook: 'output',
      priority: BEFORE_TRACKING,
      rules: [rule(...carriers, inSet(NODES, destination), notrack)],
    },
  ] as const;
  const elements = [...new Set(peers)].map((key) => ({ key }));
  return [
    ...removal(table, family),
    { do: 'add', kind: 'table', family, name: table, comment: 'Trellis: packets between nodes' },
    { do: 'add', kind: 'set', ...at, name: NODES, type: [type] },
    ...(elements.length === 0
      ? []
      : [{ do: 'add', kind: 'element', ...at, set: NODES, type: [type], elements } as const]),
    ...chains.flatMap(({ hook, priority, rules }): NftRequest[] => [
      { do: 'add', kind: 'chain', ...at, name: hook, type: 'filter', hook, priority },
      ...rules.map(
        (expressions): NftRequest => ({ do: 'add', kind: 'rule', ...at, chain: hook, expressions }),
      ),
    ]),
  ];
}

export const withoutVxlanRules = (table: string): NftRequest[] =>
  (['ip', 'ip6'] as const).map((family) => ({ do: 'destroy', kind: 'table', family, name: table }));

/** Also where there is none: it is made first. */
const removal = (name: string, family: 'ip' | 'ip6'): NftRequest[] => [
  { do: 'add', kind: 'table', family, name },
  { do: 'delete', kind: 'table', family, name },
];
