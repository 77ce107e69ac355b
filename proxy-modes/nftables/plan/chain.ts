// A service's chain in the kernel's words. Pure.
// Guarantees: one rule picks an endpoint, however many there are; where clients stay with theirs, one more for each.
import { textBytes } from '../../../src/kernel/nftables/bytes.js';
import {
  dnatTo,
  dnatToLoaded,
  drop,
  fibType,
  goTo,
  inSet,
  ip6Saddr,
  ipSaddr,
  jump,
  load,
  match,
  numgenVmap,
  type Part,
  returns,
  rule,
  updateSet,
} from '../../../src/kernel/nftables/expressions.js';
import type { DataType, NftRequest, NftSet, SetElement } from '../../../src/kernel/nftables/port.js';
import type { TrafficOptions } from '../../mode.js';
import * as names from '../names.js';
import type { TableName } from './base.js';
import type { ChainStep, Origin } from './service.js';

interface ChainPlace extends TableName {
  readonly chain: string;
  readonly options: TrafficOptions;
  /** Gives the anonymous sets of one transaction their numbers. */
  nextSetId(): number;
}

type StepOf<Name extends ChainStep['step']> = Extract<ChainStep, { readonly step: Name }>;

export function chainRules(place: ChainPlace, steps: readonly ChainStep[]): NftRequest[] {
  return steps.flatMap((step) => {
    if (step.step === 'balance') return balance(place, step);
    return step.step === 'stick' ? stick(place, step) : [simpleRule(place, step)];
  });
}

function simpleRule(place: ChainPlace, step: Exclude<ChainStep, StepOf<'balance' | 'stick'>>): NftRequest {
  switch (step.step) {
    case 'masquerade':
      return addRule(place, from(place, step.from), jump(names.MARK_FOR_MASQUERADE));
    case 'pick':
      return addRule(place, pick(place, step.among));
    case 'remember':
      return addRule(
        place,
        updateSet(step.clients, [place.family === 'ip' ? 'ip saddr' : 'ip6 saddr'], {
          timeoutMs: step.timeoutMs,
        }),
      );
    case 'send':
      return addRule(place, dnatTo(step.endpoint.ip, step.endpoint.port));
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

/** `dnat to ip daddr . meta l4proto . th dport . numgen random mod N map @service-endpoints`. */
function pick({ family }: TableName, modulus: number): Part {
  const daddr = family === 'ip' ? 'ip daddr' : 'ip6 daddr';
  return [
    ...load(daddr, 'meta l4proto', 'th dport'),
    // Right behind the port: an address is one register of four bytes, or four of them.
    { numgen: { type: 'random', modulus, dreg: family === 'ip' ? 11 : 14 } },
    { lookup: { set: names.ENDPOINTS, sreg: 1, dreg: 1 } },
    ...dnatToLoaded(family),
  ];
}

/** The kernel gives it a number. */
const ANONYMOUS = '__map%d';
const address = ({ family }: TableName): DataType => (family === 'ip' ? 'ipv4_addr' : 'ipv6_addr');

/** `dnat to numgen random mod N map { 0 : address . port, ... }`: one rule, however many endpoints. */
function balance(place: ChainPlace, { endpoints, from: origin }: StepOf<'balance'>): NftRequest[] {
  const choices = anonymousMap(place, {
    mapType: [address(place), 'inet_service'],
    elements: endpoints.map(({ ip, port }, index) => ({ key: String(index), data: `${ip} . ${port}` })),
  });
  const choose: Part = [
    { numgen: { type: 'random', modulus: endpoints.length, dreg: 1 } },
    { lookup: { ...choices.ref, sreg: 1, dreg: 1 } },
  ];
  return [...choices.requests, addRule(place, from(place, origin), choose, dnatToLoaded(place.family))];
}

/** `numgen random mod N vmap { 0 : goto chain, ... }`, after one rule for the clients of each endpoint. */
function stick(place: ChainPlace, { chains, from: origin }: StepOf<'stick'>): NftRequest[] {
  const source = place.family === 'ip' ? 'ip saddr' : 'ip6 saddr';
  const choices = anonymousMap(place, {
    mapType: ['verdict'],
    elements: chains.map(({ chain }, index) => ({ key: String(index), verdict: `goto ${chain}` })),
  });
  return [
    ...chains.map(({ chain, clients }) =>
      addRule(place, from(place, origin), inSet(clients, source), goTo(chain)),
    ),
    ...choices.requests,
    addRule(place, from(place, origin), numgenVmap(chains.length, choices.ref)),
  ];
}

/** A map of the rule's own, made in the same transaction. */
function anonymousMap(
  { family, table, nextSetId }: ChainPlace,
  content: { mapType: NonNullable<NftSet['mapType']>; elements: readonly SetElement[] },
) {
  const { mapType, elements } = content;
  const id = nextSetId();
  const set = { family, table, type: ['integer'], mapType, flags: ['anonymous', 'constant'] } as const;
  const requests: NftRequest[] = [
    { do: 'add', kind: 'set', ...set, name: ANONYMOUS, id },
    { do: 'add', kind: 'element', ...set, set: ANONYMOUS, setId: id, elements },
  ];
  return { requests, ref: { set: ANONYMOUS, setId: id } };
}
