// From a rule of a policy to rules of nf_tables. Pure.
// Guarantees: one nf_tables rule per selection of peers (and one for all networks together), however many addresses.
import {
  accept,
  counter,
  dport,
  dportIn,
  goTo,
  inSet,
  l4proto,
  type Part,
} from '../../kernel/nftables/expressions.js';
import type { PortRange } from './intervals.js';
import type { Action, Direction } from './model.js';
import * as names from './names.js';
import { destinationField, type PolicyFamily, shape, sourceField } from './table.js';
import type { RuleShape } from './tableImage.js';

/** A rule whose peers and ports are sets of the table. */
export interface SetRule {
  readonly action: Action;
  /** Ways to match: each is enough, and all sets of one must match. */
  readonly ways: readonly Way[];
}

export interface Way {
  /** Holds the other side's address. */
  readonly peers?: string;
  /** Holds protocol and port. */
  readonly ports?: string;
  /** In place of `ports`: the kernel compares faster than it looks up, and there is no set to keep. */
  readonly range?: PortRange;
  /** Holds the destination's address, protocol and port. */
  readonly named?: string;
}

interface RuleTarget {
  readonly family: PolicyFamily;
  readonly direction: Direction;
  /** The key of the policy whose rules they are. */
  readonly policy: string;
  /** The chain that rules which pass go to; without one, passing is allowing: there is no further tier. */
  readonly passed?: string;
}

export function nftRules(rules: readonly SetRule[], target: RuleTarget): RuleShape[] {
  return rules.flatMap(({ action, ways }, rule) =>
    ways.map((way) => ({
      ...shape(...conditions(way, target), counter, verdict(action, target)),
      decision: { policies: [target.policy], rule, outcome: OUTCOMES[action] },
    })),
  );
}

const OUTCOMES = { accept: 'allowed', deny: 'refused', pass: 'passed' } as const;

function conditions({ peers, ports, range, named }: Way, { family, direction }: RuleTarget): Part[] {
  const peer = direction === 'ingress' ? sourceField(family) : destinationField(family);
  return [
    ...(peers === undefined ? [] : [inSet(peers, peer)]),
    ...(ports === undefined ? [] : [inSet(ports, 'meta l4proto', 'th dport')]),
    ...(range === undefined ? [] : inRange(range)),
    ...(named === undefined ? [] : [inSet(named, destinationField(family), 'meta l4proto', 'th dport')]),
  ];
}

const inRange = ({ protocol, from, to }: PortRange): Part[] => [
  l4proto(protocol),
  from === to ? dport(from) : dportIn(from, to),
];

/** Accepting ends the judgement of this direction only. */
function verdict(action: Action, { direction, passed }: RuleTarget): Part {
  if (action === 'deny') return goTo(names.refusedChain(direction));
  return action === 'pass' && passed !== undefined ? goTo(passed) : accept;
}
