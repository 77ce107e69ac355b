// Lines of an iptables-restore as transactions of nf_tables, one unless there are very many lines. Pure.
// Guarantees: a line that is not surely understood is told, not guessed; done by the kernel, the transactions leave what
// the tool's nft back end would leave, and between two of them every chain is whole.
import type { BaseChain, NftRequest } from '../../nftables/port.js';
import { words } from '../model.js';
import type { TableName } from '../port.js';
import { nftRule } from './expressions.js';
import type { NatFamily } from './extensions.js';
import { readRule } from './rule.js';
import { atMost, declaredChain, inTables, MAX_CHAIN_NAME, sectionsOf } from './sections.js';

type Hooks = Readonly<Record<string, BaseChain>>;
const filterAt = (priority: number, ...hooks: readonly BaseChain['hook'][]): Hooks =>
  Object.fromEntries(hooks.map((hook) => [hook.toUpperCase(), { type: 'filter', hook, priority }]));
const nat = (hook: BaseChain['hook'], priority: number): BaseChain => ({ type: 'nat', hook, priority });

/** The built-in chains as the tool makes them, each when it is first needed. */
const BUILT_IN: Readonly<Record<TableName, Hooks>> = {
  raw: filterAt(-300, 'prerouting', 'output'),
  mangle: {
    ...filterAt(-150, 'prerouting', 'input', 'forward', 'postrouting'),
    OUTPUT: { type: 'route', hook: 'output', priority: -150 },
  },
  nat: {
    PREROUTING: nat('prerouting', -100),
    INPUT: nat('input', 100),
    OUTPUT: nat('output', -100),
    POSTROUTING: nat('postrouting', 100),
  },
  filter: filterAt(0, 'input', 'forward', 'output'),
  security: filterAt(50, 'input', 'forward', 'output'),
};

const COMMANDS = { '-A': 'add', '-I': 'insert', '-D': 'delete' } as const;

/** One table of a restore; turns its lines into requests, undefined for one that is not understood. */
class OpenTable {
  readonly made: NftRequest;
  readonly #emptied = new Set<string>();
  readonly #hooked = new Set<string>();

  constructor(
    readonly family: NatFamily,
    readonly name: TableName,
  ) {
    this.made = { do: 'add', kind: 'table', family, name };
  }

  requests(line: string): NftRequest[] | undefined {
    if (line.startsWith(':')) {
      const name = declaredChain(line);
      return name === undefined ? undefined : this.declare(name);
    }
    const [command = '', chain, ...rule] = words(line);
    if (chain === undefined) return undefined;
    if (command === '-X') return rule.length === 0 ? this.#remove(chain) : undefined;
    if (command !== '-A' && command !== '-I' && command !== '-D') return undefined;
    return this.#rule(COMMANDS[command], chain, rule);
  }

  /** Made or emptied. */
  declare(name: string): [NftRequest, NftRequest] | undefined {
    if (name.length > MAX_CHAIN_NAME || name in BUILT_IN[this.name]) return undefined;
    const chain = { kind: 'chain', family: this.family, table: this.name, name } as const;
    this.#emptied.add(name);
    return [
      { do: 'add', ...chain },
      { do: 'flush', ...chain },
    ];
  }

  /** The kernel would delete the rules, too, which the tool does not. */
  #remove(name: string): NftRequest[] | undefined {
    if (!this.#emptied.has(name)) return undefined;
    return [{ do: 'delete', kind: 'chain', family: this.family, table: this.name, name }];
  }

  #rule(verb: 'add' | 'insert' | 'delete', chain: string, rule: readonly string[]): NftRequest[] | undefined {
    const read = readRule(this.family, rule);
    if (read === undefined) return undefined;
    const native = nftRule(read);
    const { family, name: table } = this;
    const place = { kind: 'rule', family, table, chain } as const;
    if (verb === 'delete') return [{ do: verb, ...place, expressions: native.expressions }];
    const hook = BUILT_IN[table][chain];
    const isHooked = hook === undefined || this.#hooked.has(chain);
    if (hook !== undefined) this.#hooked.add(chain);
    return [
      ...(isHooked ? [] : [{ do: 'add', kind: 'chain', family, table, name: chain, ...hook } as const]),
      { do: verb, ...place, ...native },
    ];
  }
}

/** A restore of more lines goes in several transactions: one would take hundreds of megabytes to make. */
const MOST_LINES = 4_000;

/**
 * The transactions of a restore, to be done one after the other; undefined in place of one means that a line was not
 * understood: the tool must do the whole restore then, which it can whatever was done before.
 */
export function* nativeSteps(
  family: NatFamily,
  lines: Iterable<string>,
  mostLines = MOST_LINES,
): Generator<readonly NftRequest[] | undefined> {
  const few = atMost(lines, mostLines);
  if (few === undefined) return yield* largeSteps(family, lines, mostLines);
  const sections = sectionsOf(few);
  if (sections === undefined) return yield undefined;
  const step: NftRequest[] = [];
  for (const { table: name, lines: own } of sections) {
    const table = new OpenTable(family, name);
    step.push(table.made);
    for (const line of own) {
      const requests = table.requests(line);
      if (requests === undefined) return yield undefined;
      step.push(...requests);
    }
  }
  yield step;
}

/**
 * First every chain is made, then each is filled, whole, as soon as its last line has come, then comes the rest: what
 * jumps to them from elsewhere, and what goes. Two passes, so that no more lines are in memory than those of chains that
 * are not whole yet.
 */
function* largeSteps(
  family: NatFamily,
  lines: Iterable<string>,
  size: number,
): Generator<readonly NftRequest[] | undefined> {
  const tables = countRules(family, lines);
  if (tables === undefined) return yield undefined;
  let step: NftRequest[] = [];
  for (const { table, counts } of tables.values()) {
    step.push(table.made);
    for (const name of counts.keys()) {
      const [made] = table.declare(name) ?? [];
      if (made === undefined) return yield undefined;
      step.push(made);
      if (step.length < size) continue;
      yield step;
      step = [];
    }
  }
  const rest: NftRequest[] = [];
  for (const entry of inTables(lines)) {
    const open = entry === undefined ? undefined : tables.get(entry.table);
    if (entry === undefined || open === undefined) return yield undefined;
    if (entry.line.startsWith('*')) continue;
    const { table, counts, filling } = open;
    const name = filledChain(entry.line, counts);
    const requests = declaredChain(entry.line) === undefined ? table.requests(entry.line) : [];
    if (requests === undefined) return yield undefined;
    if (name === undefined) {
      rest.push(...requests);
      continue;
    }
    const filled = filling.get(name) ?? [];
    filled.push(requests);
    filling.set(name, filled);
    if (filled.length < (counts.get(name) ?? 0)) continue;
    filling.delete(name);
    step.push(...(table.declare(name)?.slice(1) ?? []), ...filled.flat());
    if (step.length < size) continue;
    yield step;
    step = [];
  }
  for (const { table, counts } of tables.values())
    for (const [name, count] of counts) if (count === 0) step.push(...(table.declare(name)?.slice(1) ?? []));
  yield [...step, ...rest];
}

/** The declared chains of each table, and how many lines fill each; undefined when that is not the form of the lines. */
function countRules(family: NatFamily, lines: Iterable<string>) {
  const tables = new Map<
    TableName,
    {
      readonly table: OpenTable;
      readonly counts: Map<string, number>;
      /** What came for chains that are not whole yet. */
      readonly filling: Map<string, NftRequest[][]>;
    }
  >();
  for (const entry of inTables(lines)) {
    if (entry === undefined) return undefined;
    const { table, line } = entry;
    if (line.startsWith('*')) {
      if (tables.has(table)) return undefined;
      tables.set(table, { table: new OpenTable(family, table), counts: new Map(), filling: new Map() });
      continue;
    }
    const counts = tables.get(table)?.counts;
    const made = declaredChain(line);
    if (made !== undefined) counts?.set(made, 0);
    const filled = counts && filledChain(line, counts);
    if (filled !== undefined) counts?.set(filled, (counts.get(filled) ?? 0) + 1);
  }
  return tables;
}

/** The declared chain that a line appends to, if it does. */
function filledChain(line: string, declared: ReadonlyMap<string, number>): string | undefined {
  const [command, chain = ''] = line.split(' ', 2);
  return command === '-A' && declared.has(chain) ? chain : undefined;
}
