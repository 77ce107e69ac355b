// Whole tables as lines for iptables-restore: chains of ours, the jumps to them, and how both are removed. Pure.
// Guarantees: jumps that are there are not written twice; rules of others stay.
import type { Ruleset } from '../../src/kernel/iptables/port.js';

export type Table = 'filter' | 'nat' | 'mangle';
export type PerTable<T> = Readonly<Record<Table, T>>;

/** What of the tables is ours. */
export interface Ownership {
  readonly chains: PerTable<readonly string[]>;
  /** Jumps from the built-in chains, without their command; the first comes first in its chain. */
  readonly jumps: PerTable<readonly string[]>;
  /** Chains of the nat table that belong to single services. */
  isServiceChain(name: string): boolean;
}

interface Content {
  /** With their command, such as "-A KUBE-SERVICES ..."; chains besides those that are always there are declared among them. */
  readonly rules: Iterable<string>;
  /** Jumps that are not there yet. */
  readonly missing: PerTable<readonly string[]>;
  /** Chains that go. */
  readonly leftOver?: readonly string[];
}

export function missingJumps(owned: Ownership, found: Ruleset): PerTable<readonly string[]> {
  const missing = (table: Table) =>
    owned.jumps[table].filter((jump) => {
      const [chain = ''] = jump.split(' ', 1);
      return found.get(table)?.chains.get(chain)?.rules.includes(`-A ${jump}`) !== true;
    });
  return { filter: missing('filter'), nat: missing('nat'), mangle: missing('mangle') };
}

/** The chains of single services that are there, whoever made them. */
export const serviceChains = (owned: Ownership, found: Ruleset): string[] =>
  [...(found.get('nat')?.chains.keys() ?? [])].filter((name) => owned.isServiceChain(name));

/** Lines that make one table's chains anew. */
export function* wholeTable(
  owned: Ownership,
  table: Table,
  { rules, missing, leftOver = [] }: Content,
): Generator<string> {
  yield `*${table}`;
  yield* [...owned.chains[table], ...leftOver].map(declare);
  // Each goes to the head of its chain: the last one written comes first.
  yield* [...missing[table]].reverse().map((jump) => `-I ${jump}`);
  yield* rules;
  yield* leftOver.map((name) => `-X ${name}`);
  yield 'COMMIT';
}

/** Lines that remove everything that is ours, whoever made it; none if there is nothing. */
export function removal(owned: Ownership, found: Ruleset): string[] {
  return (['filter', 'nat', 'mangle'] as const).flatMap((table) => {
    const there = found.get(table)?.chains;
    const rules = new Set([...(there?.values() ?? [])].flatMap((chain) => chain.rules));
    const gone = [...(there?.keys() ?? [])].filter(
      (name) => owned.chains[table].includes(name) || (table === 'nat' && owned.isServiceChain(name)),
    );
    const jumps = owned.jumps[table].filter((jump) => rules.has(`-A ${jump}`));
    if (gone.length === 0 && jumps.length === 0) return [];
    return [
      `*${table}`,
      ...gone.map(declare),
      ...jumps.map((jump) => `-D ${jump}`),
      ...gone.map((name) => `-X ${name}`),
      'COMMIT',
    ];
  });
}

export const declare = (name: string) => `:${name} - [0:0]`;
