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

export interface Content {
  /** With their command, such as "-A KUBE-SERVICES ...". */
  readonly rules: readonly string[];
  /** Chains besides those that are always there, with their rules. */
  readonly chains?: ReadonlyMap<string, readonly string[]>;
}

/** Lines that make one table's chains anew. */
export function wholeTable(owned: Ownership, table: Table, found: Ruleset, content: Content): string[] {
  const there = found.get(table)?.chains;
  const rules = new Set([...(there?.values() ?? [])].flatMap((chain) => chain.rules));
  const missing = owned.jumps[table].filter((jump) => !rules.has(`-A ${jump}`));
  const chains = content.chains ?? new Map<string, readonly string[]>();
  const leftOver =
    table === 'nat'
      ? [...(there?.keys() ?? [])].filter((name) => owned.isServiceChain(name) && !chains.has(name))
      : [];
  return [
    `*${table}`,
    ...[...owned.chains[table], ...chains.keys(), ...leftOver].map(declare),
    // Each goes to the head of its chain: the last one written comes first.
    ...[...missing].reverse().map((jump) => `-I ${jump}`),
    ...content.rules,
    ...[...chains].flatMap(([chain, lines]) => lines.map((rule) => `-A ${chain} ${rule}`)),
    ...leftOver.map((name) => `-X ${name}`),
    'COMMIT',
  ];
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
