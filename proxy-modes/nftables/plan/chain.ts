// A service's chain in the kernel's words. Pure.
// Guarantees: as many rules as the chain has steps (two where clients stay with their endpoint), however many endpoints.
import { textBytes } from '../../../src/kernel/nftables/bytes.js';
import type { Expression } from '../../../src/kernel/nftables/expression.js';
import {
  dnatToLoaded,
  drop,
  fibType,
  ip6Saddr,
  ipSaddr,
  jump,
  load,
  match,
  type Part,
  returns,
  rule,
} from '../../../src/kernel/nftables/expressions.js';
import type { DataType, NftRequest } from '../../../src/kernel/nftables/port.js';
import type { Endpoint, TrafficOptions } from '../../../src/proxy/state.js';
import * as names from '../names.js';
import type { TableName } from './base.js';
import type { Affinity, ChainStep, Origin } from './service.js';

export interface ChainPlace extends TableName {
  readonly chain: string;
  readonly options: TrafficOptions;
  /** Gives the anonymous sets of one transaction their numbers. */
  nextSetId(): number;
}

export function chainRules(place: ChainPlace, steps: readonly ChainStep[]): NftRequest[] {
  return steps.flatMap((step) =>
    step.step === 'balance' ? balance(place, step) : [simpleRule(place, step)],
  );
}

function simpleRule(place: ChainPlace, step: Exclude<ChainStep, { step: 'balance' }>): NftRequest {
  switch (step.step) {
    case 'masquerade':
      return addRule(place, from(place, step.from), jump(names.MARK_FOR_MASQUERADE));
    case 'allow':
      return addRule(place, saddr(place, step.cidr), returns);
    case 'drop':
      return addRule(place, drop);
  }
}

const addRule = ({ family, table, chain }: ChainPlace, ...parts: Part[]): NftRequest => ({
  do: 'add',
  kind: 'rule',
  family,
  table,
  chain,
  expressions: rule(...parts),
});

const saddr = ({ family }: TableName, cidr: string, op: 'eq' | 'neq' = 'eq') =>
  (family === 'ip' ? ipSaddr : ip6Saddr)(cidr, op);

function from(place: ChainPlace, origin: Origin | undefined): Part {
  if (origin === undefined) return [];
  if (origin === 'node') return fibType(['saddr'], 'local');
  const { local } = place.options;
  const op = origin === 'pods' ? 'eq' : 'neq';
  switch (local?.by) {
    case 'cidr':
      return saddr(place, local.cidr, op);
    case 'interface':
      return match('meta iifname', textBytes(local.name, 16), op);
    case 'interface-prefix':
      return match('meta iifname', textBytes(local.prefix, local.prefix.length), op);
    default:
      return [];
  }
}

const SET_NAME = { map: '__map%d', set: '__set%d' };
const address = ({ family }: TableName): DataType => (family === 'ip' ? 'ipv4_addr' : 'ipv6_addr');

/** `dnat to numgen random mod N map { 0 : address . port, ... }`. */
function balance(place: ChainPlace, step: ChainStep & { step: 'balance' }): NftRequest[] {
  const { endpoints, affinity } = step;
  const origin = from(place, step.from);
  const choices = anonymous(place, {
    type: ['integer'],
    mapType: [address(place), 'inet_service'],
    elements: endpoints.map(({ ip, port }, index) => ({ key: String(index), data: `${ip} . ${port}` })),
  });
  const choose = (dreg: number): Expression[] => [
    { numgen: { type: 'random', modulus: endpoints.length, dreg: 1 } },
    { lookup: { ...choices.ref, sreg: 1, dreg } },
  ];
  if (affinity === undefined)
    return [...choices.requests, addRule(place, origin, choose(1), dnatToLoaded(place.family))];
  return [
    ...sticky(place, { origin, affinity, endpoints }),
    ...choices.requests,
    ...stick(place, { origin, affinity, choose }),
  ];
}

/** A client that is remembered goes where it went before, if that endpoint still takes traffic; its time begins anew. */
function sticky(
  place: ChainPlace,
  { origin, affinity, endpoints }: { origin: Part; affinity: Affinity; endpoints: readonly Endpoint[] },
): NftRequest[] {
  const live = anonymous(place, {
    type: [address(place), 'inet_service'],
    elements: endpoints.map(({ ip, port }) => ({ key: `${ip} . ${port}` })),
  });
  const lookups: Expression[] = [
    { lookup: { set: affinity.map, sreg: 1, dreg: 2 } },
    { lookup: { ...live.ref, sreg: 2 } },
  ];
  return [
    ...live.requests,
    addRule(place, origin, client(place), lookups, remember(affinity, 'update'), dnatToSecond(place)),
  ];
}

/** Any other client gets an endpoint by chance. What was remembered of a gone endpoint is forgotten first: an update keeps the data. */
function stick(
  place: ChainPlace,
  { origin, affinity, choose }: { origin: Part; affinity: Affinity; choose: (dreg: number) => Expression[] },
): NftRequest[] {
  return [
    addRule(
      place,
      origin,
      choose(2),
      client(place),
      [{ dynset: { set: affinity.map, op: 'delete', sregKey: 1 } }],
      remember(affinity, 'update'),
      dnatToSecond(place),
    ),
  ];
}

const client = ({ family }: TableName): Part => load(family === 'ip' ? 'ip saddr' : 'ip6 saddr');

const remember = ({ map, timeoutMs }: Affinity, op: 'add' | 'update'): Part => [
  { dynset: { set: map, op, sregKey: 1, sregData: 2, timeoutMs } },
];

/** The address is in register 2, the port right behind it. */
const dnatToSecond = ({ family }: TableName): Part => [
  { nat: { type: 'dnat', family, sregAddrMin: 2, sregProtoMin: family === 'ip' ? 13 : 3 } },
];

/** A set of the rule's own, made in the same transaction. */
function anonymous(
  { family, table, nextSetId }: ChainPlace,
  content: {
    type: readonly DataType[];
    mapType?: readonly DataType[];
    elements: readonly { key: string; data?: string }[];
  },
) {
  const { type, mapType, elements } = content;
  const id = nextSetId();
  const name = mapType === undefined ? SET_NAME.set : SET_NAME.map;
  const map = mapType === undefined ? {} : { mapType };
  const set = { family, table, type, ...map, flags: ['anonymous', 'constant'] } as const;
  const requests: NftRequest[] = [
    { do: 'add', kind: 'set', ...set, name, id },
    { do: 'add', kind: 'element', ...set, set: name, setId: id, elements },
  ];
  return { requests, ref: { set: name, setId: id } };
}
