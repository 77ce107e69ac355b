// The frame of a table of network policies: hooks, the order of judgement, and the sets that every pod is in. Pure.
// Guarantees: packets of connections that were allowed pass at once; an address of this node's pods that has not been
// judged yet neither sends nor receives; the node itself reaches its pods and is reached by them.
import {
  accept,
  ctState,
  drop,
  fibType,
  goTo,
  inSet,
  l4proto,
  matchPayload,
  notInSet,
  type Part,
  rule,
  vmapLookup,
} from '../../kernel/nftables/expressions.js';
import * as names from './names.js';
import { type RuleShape, TableImage } from './tableImage.js';

export type PolicyFamily = 'ip' | 'ip6';
export const FAMILIES: readonly PolicyFamily[] = ['ip', 'ip6'];

/** After a firewall of the host, and after the proxy's own refusals. */
const PRIORITY = 10;

export const addressType = (family: PolicyFamily) => (family === 'ip' ? 'ipv4_addr' : 'ipv6_addr');
export const sourceField = (family: PolicyFamily) => (family === 'ip' ? 'ip saddr' : 'ip6 saddr');
export const destinationField = (family: PolicyFamily) => (family === 'ip' ? 'ip daddr' : 'ip6 daddr');

export const shape = (...parts: readonly Part[]): RuleShape => ({ expressions: rule(...parts) });

/** ICMPv6 types 133 to 137: routers, neighbours and redirects, without which a link of IPv6 does not work. */
const neighbourDiscovery: Part = [
  ...l4proto('icmpv6'),
  ...matchPayload({ base: 'transport', offset: 0, length: 1 }, '85', 'gte'),
  ...matchPayload({ base: 'transport', offset: 0, length: 1 }, '89', 'lte'),
];

export function frame(family: PolicyFamily, table: string): TableImage {
  const image = new TableImage({ family, table, comment: 'Trellis: network policies' });
  const address = addressType(family);
  image.putSet({ name: names.JUDGED, type: [address] });
  image.putSet({ name: names.POD_RANGES, type: [address], flags: ['interval'] });
  image.putSet({ name: names.SELF, type: [address, address] });
  for (const name of Object.values(names.SUBJECTS))
    image.putSet({ name, type: [address], mapType: ['verdict'] });
  const source = sourceField(family);
  const destination = destinationField(family);
  image.putChain({ name: names.JUDGE_DESTINATION }, [
    shape(vmapLookup(names.SUBJECTS.ingress, destination)),
    shape(inSet(names.POD_RANGES, destination), notInSet(names.JUDGED, destination), drop),
    shape(accept),
  ]);
  image.putChain({ name: names.JUDGE_SOURCE }, [
    ...(family === 'ip6' ? [shape(neighbourDiscovery, accept)] : []),
    shape(inSet(names.SELF, source, destination), accept),
    shape(vmapLookup(names.SUBJECTS.egress, source)),
    shape(inSet(names.POD_RANGES, source), notInSet(names.JUDGED, source), drop),
    shape(goTo(names.JUDGE_DESTINATION)),
  ]);
  const filter = { type: 'filter', priority: PRIORITY } as const;
  image.putChain({ name: names.FORWARD, hook: 'forward', ...filter }, [
    shape(ctState('established', 'related'), accept),
    shape(goTo(names.JUDGE_SOURCE)),
  ]);
  // IPVS sends what it forwards through the output hook; the node's own packets have an address of the node.
  image.putChain({ name: names.OUTPUT, hook: 'output', ...filter }, [
    shape(ctState('established', 'related'), accept),
    shape(fibType(['saddr'], 'local'), accept),
    shape(goTo(names.JUDGE_SOURCE)),
  ]);
  return image;
}

/** TCP that begins in the middle: of a connection that was cut, or of one that was never judged. */
export const midStream: Part = [
  ...l4proto('tcp'),
  { payload: { base: 'transport', offset: 13, length: 1, dreg: 1 } },
  { bitwise: { sreg: 1, dreg: 1, length: 1, mask: '17', xor: '00' } },
  { cmp: { sreg: 1, op: 'neq', value: '02' } },
];
