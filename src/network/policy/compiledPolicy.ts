// A policy that follows its subject's pods, and, while it is in force, has its peers and ports as sets of the tables. Pure.
// Guarantees: what is given back is exactly what was acquired; equal peers and ports of several policies are one set.
import { onlyRange } from './intervals.js';
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

/** Every pod of the cluster that has an address of its own. */
const EVERY_POD: PodSelection = { namespaces: {}, pods: {} };

type SetRules = Readonly<Partial<Record<Direction, readonly SetRule[]>>>;

export class CompiledPolicy {
  readonly policy: Policy;
  readonly subject: Selection;
  readonly #sets: SharedSets;
  readonly #releaseSubject: () => void;
  readonly #held: (() => void)[] = [];
  #rules: SetRules | undefined;

  constructor(policy: Policy, sets: SharedSets) {
    const { value, release } = sets.selection(policy.subject);
    this.policy = policy;
    this.subject = value;
    this.#sets = sets;
    this.#releaseSubject = release;
  }

  get isInForce(): boolean {
    return this.#rules !== undefined;
  }

  /** Empty while it is not in force. */
  get rules(): SetRules {
    return this.#rules ?? {};
  }

  putInForce(): void {
    const { subject, rules: own } = this.policy;
    const compiler = new RuleCompiler(subject, this.#sets, ({ value, release }) => {
      this.#held.push(release);
      return value;
    });
    const rules: Partial<Record<Direction, SetRule[]>> = {};
    for (const direction of DIRECTIONS) {
      const some = own[direction];
      if (some !== undefined)
        rules[direction] = some.map((rule) => ({
          action: rule.action,
          ways: compiler.ways(rule, direction),
        }));
    }
    this.#rules = rules;
  }

  /** Gives its sets back, and goes on following its subject. */
  takeOutOfForce(): void {
    for (const release of this.#held.splice(0)) release();
    this.#rules = undefined;
  }

  /** For good. */
  release(): void {
    this.takeOutOfForce();
    this.#releaseSubject();
  }
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
    const numbered = isNumbered ? this.#numberedPorts(rule.ports) : {};
    return [
      ...(isNumbered ? this.#peerWays(rule).map((way) => ({ ...way, ...numbered })) : []),
      ...rule.ports.flatMap((port) => this.#namedWays(rule, port, direction)),
    ];
  }

  #numberedPorts(ports: readonly PortMatch[]): Way {
    const range = onlyRange(ports);
    return range === undefined ? { ports: this.#hold(this.#sets.ports(ports)) } : { range };
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
