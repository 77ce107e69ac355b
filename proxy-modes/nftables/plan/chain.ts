// A service's chain in the kernel's words. Pure.

import {
  dnatToLoaded,
  ip6Saddr,
  ipSaddr,
  jump,
  type Part,
  rule,
} from '../../../src/kernel/nftables/expressions.js';
import type { NftRequest } from '../../../src/kernel/nftables/port.js';
import type { Endpoint } from '../../../src/proxy/state.js';
import * as names from '../names.js';
import type { TableName } from './base.js';
import type { ChainStep } from './service.js';

/** `nextSetId` gives the anonymous maps of one transaction their numbers. */
export function chainRules(
  place: TableName & { readonly chain: string },
  steps: readonly ChainStep[],
  nextSetId: () => number,
): NftRequest[] {
  const add = (...parts: Part[]): NftRequest => ({
    do: 'add',
    kind: 'rule',
    ...place,
    expressions: rule(...parts),
  });
  return steps.flatMap((step) =>
    step.step === 'masquerade'
      ? [
          add(
            step.unlessFrom === undefined ? [] : notFrom(place, step.unlessFrom),
            jump(names.MARK_FOR_MASQUERADE),
          ),
        ]
      : balance(place, step.endpoints, nextSetId(), add),
  );
}

const notFrom = ({ family }: TableName, cidr: string) => (family === 'ip' ? ipSaddr : ip6Saddr)(cidr, 'neq');

/** `dnat to numgen random mod N map { 0 : address . port, ... }`: one rule, however many endpoints. */
function balance(
  { family, table }: TableName,
  endpoints: readonly Endpoint[],
  setId: number,
  add: (...parts: Part[]) => NftRequest,
): NftRequest[] {
  const set = '__map%d';
  const map = {
    family,
    table,
    type: ['integer'],
    mapType: [family === 'ip' ? 'ipv4_addr' : 'ipv6_addr', 'inet_service'],
    flags: ['anonymous', 'constant'],
  } as const;
  return [
    { do: 'add', kind: 'set', ...map, name: set, id: setId },
    {
      do: 'add',
      kind: 'element',
      ...map,
      set,
      setId,
      elements: endpoints.map(({ ip, port }, index) => ({ key: String(index), data: `${ip} . ${port}` })),
    },
    add(
      [
        { numgen: { type: 'random', modulus: endpoints.length, dreg: 1 } },
        { lookup: { set, setId, sreg: 1, dreg: 1 } },
      ],
      dnatToLoaded(family),
    ),
  ];
}
