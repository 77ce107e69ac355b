// Does one request to the in-memory ruleset, or refuses it as the kernel would.
// Guarantees: pure but for the ruleset it is given, which the caller drops after a refusal.
import type { Expression } from '../expression.js';
import type {
  Chain,
  ChainRequest,
  NftRequest,
  NftSet,
  Rule,
  RuleRequest,
  RulesetRequest,
  SetRequest,
  TableRequest,
} from '../port.js';
import { applyElements } from './elements.js';
import {
  type ChainState,
  chainIsUsed,
  dropUnusedAnonymousSets,
  type Ruleset,
  references,
  setIsUsed,
  type TableState,
  tableKey,
  type WithHandle,
} from './model.js';
import { found, Refusal } from './refusal.js';

/** What lasts as long as one transaction: ids of anonymous sets, and the time. */
export interface Transaction {
  readonly ruleset: Ruleset;
  readonly setNames: Map<number, string>;
  readonly now: number;
}

export function applyRequest(transaction: Transaction, request: NftRequest): void {
  const { ruleset } = transaction;
  if (request.kind === 'table') applyTable(ruleset, request);
  else if (request.kind === 'ruleset') flushRuleset(ruleset, request);
  else applyInTable(transaction, found(ruleset.tables.get(tableKey(request.family, request.table))), request);
}

function applyInTable(
  transaction: Transaction,
  table: TableState,
  request: Exclude<NftRequest, TableRequest | RulesetRequest>,
): void {
  switch (request.kind) {
    case 'chain':
      applyChain(table, request);
      break;
    case 'rule':
      applyRule(transaction, table, request);
      break;
    case 'set':
      applySet(transaction, table, request);
      break;
    case 'element': {
      const set = found(table.sets.get(setName(transaction, request.set, request.setId)));
      applyElements(table, set, request, transaction.now);
    }
  }
}

const setName = (transaction: Transaction, name: string, id: number | undefined) =>
  (id === undefined ? undefined : transaction.setNames.get(id)) ?? name;

type NotKept = 'do' | 'kind' | 'before' | 'after' | 'id' | 'protocol';
const NOT_KEPT: ReadonlySet<string> = new Set<NotKept>(['do', 'kind', 'before', 'after', 'id', 'protocol']);

/** Without the words that say what to do, and without members that are undefined. */
function fieldsOf<T extends object>(request: T): Omit<T, NotKept> {
  const kept = Object.entries(request).filter(([name, value]) => !NOT_KEPT.has(name) && value !== undefined);
  return Object.fromEntries(kept) as Omit<T, NotKept>;
}

function applyTable(ruleset: Ruleset, request: TableRequest): void {
  const key = tableKey(request.family, request.name);
  const there = ruleset.tables.get(key);
  switch (request.do) {
    case 'add':
    case 'create':
      if (there !== undefined) {
        if (request.do === 'create') throw new Refusal('EEXIST');
        if (request.flags !== undefined) there.table = { ...there.table, flags: request.flags };
        return;
      }
      ruleset.tables.set(key, {
        table: { ...fieldsOf(request), handle: ++ruleset.lastHandle },
        chains: new Map(),
        sets: new Map(),
        lastHandle: 0,
      });
      return;
    case 'flush':
      for (const chain of found(there).chains.values()) flushChain(found(there), chain);
      return;
    case 'delete':
    case 'destroy':
      if (!ruleset.tables.delete(key) && request.do === 'delete') throw new Refusal('ENOENT');
  }
}

function flushRuleset(ruleset: Ruleset, request: RulesetRequest): void {
  for (const [key, { table }] of ruleset.tables)
    if (request.family === undefined || request.family === table.family) ruleset.tables.delete(key);
}

function flushChain(table: TableState, state: ChainState): void {
  const gone = state.rules;
  state.rules = [];
  for (const { expressions } of gone) dropUnusedAnonymousSets(table, expressions);
}

function applyChain(table: TableState, request: ChainRequest): void {
  const there = table.chains.get(request.name);
  switch (request.do) {
    case 'add':
    case 'create':
      if (there !== undefined) {
        changeChain(there, request);
        return;
      }
      table.chains.set(request.name, {
        chain: { ...chainFields(request), handle: ++table.lastHandle },
        rules: [],
      });
      return;
    case 'flush':
      flushChain(table, found(there));
      return;
    case 'delete':
    case 'destroy':
      if (there === undefined && request.do === 'destroy') return;
      flushChain(table, found(there));
      if (chainIsUsed(table, request.name)) throw new Refusal('EBUSY');
      table.chains.delete(request.name);
  }
}

/** A base chain without a policy accepts. */
const chainFields = (request: Chain): Chain => ({
  ...(request.hook === undefined ? {} : { policy: 'accept' as const }),
  ...fieldsOf(request),
});

function changeChain(there: ChainState, request: Chain & { readonly do: 'add' | 'create' }): void {
  if (request.do === 'create') throw new Refusal('EEXIST');
  if (request.hook !== undefined) {
    if (there.chain.hook === undefined || there.chain.type !== request.type) throw new Refusal('EEXIST');
    if (there.chain.hook !== request.hook || there.chain.priority !== request.priority)
      throw new Refusal('EOPNOTSUPP');
  }
  if (request.policy !== undefined) {
    if (there.chain.hook === undefined) throw new Refusal('EOPNOTSUPP');
    there.chain = { ...there.chain, policy: request.policy };
  }
}

function applyRule(transaction: Transaction, table: TableState, request: RuleRequest): void {
  const state = found(table.chains.get(request.chain));
  const at = (handle: number) => {
    const index = state.rules.findIndex((rule) => rule.handle === handle);
    if (index < 0) throw new Refusal('ENOENT');
    return index;
  };
  if (request.do === 'delete' || request.do === 'destroy') {
    const index =
      'handle' in request
        ? state.rules.findIndex((rule) => rule.handle === request.handle)
        : state.rules.findIndex((rule) => saying(rule.expressions) === saying(request.expressions));
    if (index < 0 && request.do === 'destroy') return;
    if (index < 0) throw new Refusal('ENOENT');
    const [gone] = state.rules.splice(index, 1);
    dropUnusedAnonymousSets(table, found(gone).expressions);
    return;
  }
  const expressions = request.expressions.map((expression) => settle(transaction, expression));
  checkReferences(table, expressions);
  const rule: WithHandle<Rule> = { ...fieldsOf<Rule>(request), expressions, handle: ++table.lastHandle };
  if (request.do === 'insert') {
    state.rules.splice(request.before === undefined ? 0 : at(request.before), 0, rule);
  } else if (request.do === 'replace') {
    const [gone] = state.rules.splice(at(request.handle), 1, rule);
    dropUnusedAnonymousSets(table, found(gone).expressions);
  } else {
    state.rules.splice(request.after === undefined ? state.rules.length : at(request.after) + 1, 0, rule);
  }
}

/** Equal for rules that differ in their counters' numbers only. */
const saying = (expressions: readonly Expression[]): string =>
  JSON.stringify(expressions.map((expression) => ('counter' in expression ? { counter: {} } : expression)));

/** As the kernel keeps it: counters begin at zero, anonymous sets have their names. */
function settle(transaction: Transaction, expression: Expression): Expression {
  if ('counter' in expression) return { counter: { packets: 0, bytes: 0, ...expression.counter } };
  if ('lookup' in expression) {
    const { setId, ...lookup } = expression.lookup;
    return { lookup: { ...lookup, set: setName(transaction, lookup.set, setId) } };
  }
  if ('dynset' in expression) {
    const { setId, ...dynset } = expression.dynset;
    return { dynset: { ...dynset, set: setName(transaction, dynset.set, setId) } };
  }
  return expression;
}

function checkReferences(table: TableState, expressions: readonly Expression[]): void {
  const { chains, sets } = references(expressions);
  for (const name of chains)
    if (found(table.chains.get(name)).chain.hook !== undefined) throw new Refusal('EOPNOTSUPP');
  for (const name of sets) found(table.sets.get(name));
}

function applySet(transaction: Transaction, table: TableState, request: SetRequest): void {
  const there = table.sets.get(request.name);
  switch (request.do) {
    case 'add':
    case 'create': {
      if (there !== undefined) {
        if (request.do === 'create' || !isSameSet(there.set, request)) throw new Refusal('EEXIST');
        return;
      }
      const name = allocate(table, request.name);
      if (request.id !== undefined) transaction.setNames.set(request.id, name);
      const set: WithHandle<NftSet> = { ...fieldsOf<NftSet>(request), name, handle: ++table.lastHandle };
      table.sets.set(name, { set, elements: new Map() });
      return;
    }
    case 'flush':
      found(there).elements.clear();
      return;
    case 'delete':
    case 'destroy':
      if (there === undefined && request.do === 'destroy') return;
      found(there);
      if (setIsUsed(table, request.name)) throw new Refusal('EBUSY');
      table.sets.delete(request.name);
  }
}

/** "__map%d" becomes the first such name that is free. */
function allocate(table: TableState, name: string): string {
  if (!name.includes('%d')) return name;
  let number = 0;
  while (table.sets.has(name.replace('%d', String(number)))) number += 1;
  return name.replace('%d', String(number));
}

function isSameSet(a: NftSet, b: NftSet): boolean {
  const shape = ({ type, mapType = [], flags = [], timeoutMs = 0, size = 0 }: NftSet) =>
    JSON.stringify([type, mapType, [...flags].sort(), timeoutMs, size]);
  return shape(a) === shape(b);
}
