// The state of the in-memory ruleset, and what refers to what in it.
// Guarantees: plain values only, so that a transaction works on a copy and is dropped by dropping it.
import type { Expression, Verdict } from '../expression.js';
import type { Chain, NftFamily, NftSet, Rule, SetElement, Table } from '../port.js';
import type { Key } from './keys.js';

export type WithHandle<T> = T & { readonly handle: number };

export interface ElementState {
  readonly key: Key;
  readonly element: SetElement;
  /** On the model's clock; undefined for ever. */
  readonly expiresAt?: number;
}

export interface ChainState {
  chain: WithHandle<Chain>;
  rules: WithHandle<Rule>[];
}

export interface SetState {
  set: WithHandle<NftSet>;
  elements: Map<string, ElementState>;
}

export interface TableState {
  table: WithHandle<Table>;
  chains: Map<string, ChainState>;
  sets: Map<string, SetState>;
  /** Handles of chains, sets and rules come from one counter a table. */
  lastHandle: number;
}

export interface Ruleset {
  tables: Map<string, TableState>;
  lastHandle: number;
  generation: number;
}

export const emptyRuleset = (): Ruleset => ({ tables: new Map(), lastHandle: 0, generation: 1 });

export const tableKey = (family: NftFamily, name: string) => `${family} ${name}`;

/** The chain that a verdict goes to, or undefined. */
export const targetOf = (verdict: Verdict | undefined): string | undefined =>
  verdict !== undefined && /^(jump|goto) /.test(verdict) ? verdict.slice(5) : undefined;

const targetsOf = (expressions: readonly Expression[]): string[] =>
  expressions.flatMap((expression) => {
    if (!('immediate' in expression) || !('verdict' in expression.immediate)) return [];
    return targetOf(expression.immediate.verdict) ?? [];
  });

const setsOf = (expressions: readonly Expression[]): string[] =>
  expressions.flatMap((expression) => {
    if ('lookup' in expression) return expression.lookup.set;
    return 'dynset' in expression ? expression.dynset.set : [];
  });

export const references = (expressions: readonly Expression[]) => ({
  chains: targetsOf(expressions),
  sets: setsOf(expressions),
});

/** Whether anything but the chain's own rules goes to the chain. */
export function chainIsUsed(table: TableState, name: string): boolean {
  for (const [other, { rules }] of table.chains)
    if (other !== name && rules.some(({ expressions }) => targetsOf(expressions).includes(name))) return true;
  for (const { elements } of table.sets.values())
    for (const { element } of elements.values()) if (targetOf(element.verdict) === name) return true;
  return false;
}

export function setIsUsed(table: TableState, name: string): boolean {
  for (const { rules } of table.chains.values())
    if (rules.some(({ expressions }) => setsOf(expressions).includes(name))) return true;
  return false;
}

/** An anonymous set lives as long as the rule that looks it up. */
export function dropUnusedAnonymousSets(table: TableState, expressions: readonly Expression[]): void {
  for (const name of setsOf(expressions))
    if (table.sets.get(name)?.set.flags?.includes('anonymous') && !setIsUsed(table, name))
      table.sets.delete(name);
}

/** The chains that one can go to, by rules and by the verdict maps that they look up. */
function successors(table: TableState, name: string): string[] {
  const rules = table.chains.get(name)?.rules ?? [];
  return rules.flatMap(({ expressions }) => [
    ...targetsOf(expressions),
    ...setsOf(expressions).flatMap((set) =>
      [...(table.sets.get(set)?.elements.values() ?? [])].flatMap(
        ({ element }) => targetOf(element.verdict) ?? [],
      ),
    ),
  ]);
}

/** Whether a packet that enters by a base chain could run in circles; the kernel cares for no other loops. */
export function hasLoop(table: TableState): boolean {
  const done = new Set<string>();
  const under = new Set<string>();
  const visit = (name: string): boolean => {
    if (under.has(name)) return true;
    if (done.has(name)) return false;
    under.add(name);
    const found = successors(table, name).some(visit);
    under.delete(name);
    done.add(name);
    return found;
  };
  return [...table.chains.values()].some(({ chain }) => chain.hook !== undefined && visit(chain.name));
}
