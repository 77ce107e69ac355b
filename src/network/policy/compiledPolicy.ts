// A policy whose selections are looked up and whose peers and ports are sets of the tables. Pure.
// Guarantees: `release` gives back exactly what was acquired; equal peers and ports of several policies are one set.
import {
  DIRECTIONS,
  type Direction,
  type PodSelection,
  type Policy,
  type PolicyRule,
  type PortMatch,
} from './model.js';
import type { SetRule, Way } from './rules.js';
import type { Selection } from './selections.js';
import type { SharedSets } from './sharedSets.js';

export interface CompiledPolicy {
  readonly policy: Policy;
  readonly subject: Selection;
  readonly rules: Readonly<Partial<Record<Direction, readonly SetRule[]>>>;
  release(): void;
}

/** Every pod of the cluster that has an address of its own. */
const EVERY_POD: PodSelection = { namespaces: {}, pods: {} };

export function compilePolicy(policy: Policy, sets: SharedSets): CompiledPolicy {
  const held: (() => void)[] = [];
  const hold = <T>({ value, release }: { value: T; release: () => void }): T => {
    held.push(release);
    return value;
  };
  const compiler = new RuleCompiler(policy.subject, sets, hold);
  const rules: Partial<Record<Direction, SetRule[]>> = {};
  for (const direction of DIRECTIONS) {
    const own = policy.rules[direction];
    if (own !== undefined)
      rules[direction] = own.map((rule) => ({ action: rule.action, ways: compiler.ways(rule, direction) }));
  }
  return {
    policy,
    subject: hold(sets.selection(policy.subject)),
    rules,
    release: () => {
      for (const release of held) release();
    },
  };
}

type Hold = <T>(lease: { value: T; release: () => void }) => T;

class RuleCompiler {
  readonly #subject: PodSelection;
  readonly #sets: SharedSets;
  readonly #hold: Hold;

  constructor(subject: PodSelection, sets: SharedSets, hold: Hold) {
    this.#subject = subject;
    this.#sets = sets;
    this.#hold = hold;
  }

  ways(rule: PolicyRule, direction: Direction): Way[] {
    if (rule.ports === undefined) return this.#peerWays(rule);
    const isNumbered = rule.ports.some((port) => !('name' in port));
    const ports = isNumbered ? this.#hold(this.#sets.ports(rule.ports)) : '';
    return [
      ...(isNumbered ? this.#peerWays(rule).map((way) => ({ ...way, ports })) : []),
      ...rule.ports.flatMap((port) => this.#namedWays(rule, port, direction)),
    ];
  }

  #peerWays({ peers }: PolicyRule): Way[] {
    if (peers === undefined) return [{}];
    const { selections, blocks } = peers;
    return [
      ...selections.map((selection) => ({ peers: this.#hold(this.#sets.pods(selection)) })),
      ...(blocks.length === 0 ? [] : [{ peers: this.#hold(this.#sets.blocks(blocks)) }]),
    ];
  }

  /** A name is a port of the pod that is connected to: of the subject, or, out of it, of the peer. */
  #namedWays(rule: PolicyRule, port: PortMatch, direction: Direction): Way[] {
    if (!('name' in port)) return [];
    if (direction === 'ingress') {
      const named = this.#hold(this.#sets.namedPorts(this.#subject, port));
      return this.#peerWays(rule).map((way) => ({ ...way, named }));
    }
    const peers = rule.peers === undefined ? [EVERY_POD] : rule.peers.selections;
    return peers.map((selection) => ({ named: this.#hold(this.#sets.namedPorts(selection, port)) }));
  }
}
