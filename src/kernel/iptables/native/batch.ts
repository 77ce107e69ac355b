// Lines of an iptables-restore as transactions of nf_tables, one unless there are very many lines. Pure.
// Guarantees: a line that is not surely understood is told, not guessed; done by the kernel, the transactions leave what
// the tool's nft back end would leave, and between two of them every chain is whole. Requests are made as they are taken.
import type { BaseChain, NftRequest } from '../../nftables/port.js';
import { words } from '../model.js';
import type { TableName } from '../port.js';
import { nftRule } from './expressions.js';
import type { NatFamily } from './extensions.js';
import { type Rule, readRule } from './rule.js';
import { atMost, declaredChain, inTables, MAX_CHAIN_NAME, refuse, sectionsOf } from './sections.js';

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

/** One table of a restore; turns its lines into requests. */
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

  requests(line: string): readonly NftRequest[] {
    if (line.startsWith(':')) return this.declare(declaredChain(line) ?? refuse(line));
    const [command = '', chain, ...rule] = words(line);
    if (chain === undefined) return refuse(line);
    if (command === '-X' && rule.length === 0) return this.#remove(chain);
    if (command !== '-A' && command !== '-I' && command !== '-D') return refuse(line);
    return this.#rule(COMMANDS[command], chain, readRule(this.family, rule));
  }

  /** Made or emptied. */
  declare(name: string): [made: NftRequest, emptied: NftRequest] {
    if (name.length > MAX_CHAIN_NAME || name in BUILT_IN[this.name]) return refuse(name);
    const chain = { kind: 'chain', family: this.family, table: this.name, name } as const;
    this.#emptied.add(name);
    return [
      { do: 'add', ...chain },
      { do: 'flush', ...chain },
    ];
  }

  /** The kernel would delete the rules, too, which the tool does not. */
  #remove(name: string): NftRequest[] {
    if (!this.#emptied.has(name)) return refuse(name);
    return [{ do: 'delete', kind: 'chain', family: this.family, table: this.name, name }];
  }

  #rule(verb: 'add' | 'insert' | 'delete', chain: string, rule: Rule): NftRequest[] {
    const native = nftRule(rule);
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
const MOST_LINES = 2_000;

/** The transactions of a restore, to be done one after the other. Throws NotUnderstood, also while a step is taken. */
export function* nativeSteps(
  family: NatFamily,
  lines: Iterable<string>,
  mostLines = MOST_LINES,
): Generator<Iterable<NftRequest>> {
  const few = atMost(lines, mostLines);
  if (few === undefined) return yield* largeSteps(family, lines, mostLines);
  const step: Step = [];
  for (const { table: name, lines: own } of sectionsOf(few)) {
    const table = new OpenTable(family, name);
    step.push(table.made, ...own.map((line) => ({ table, line })));
  }
  yield requestsOf(step);
}

type Step = (NftRequest | { readonly table: OpenTable; readonly line: string })[];

function* requestsOf(step: Step): Generator<NftRequest> {
  for (const one of step) {
    if ('line' in one) yield* one.table.requests(one.line);
    else yield one;
  }
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
): Generator<Iterable<NftRequest>> {
  const tables = countRules(family, lines);
  const step: Step = [];
  const full = () => step.length >= size;
  const taken = () => requestsOf(step.splice(0));
  for (const { table, counts } of tables.values()) {
    step.push(table.made);
    for (const name of counts.keys()) {
      step.push(table.declare(name)[0]);
      if (full()) yield taken();
    }
  }
  const rest: Step = [];
  for (const { table: name, line } of inTables(lines)) {
    const { table, counts, filling } = tables.get(name) ?? refuse(line);
    if (line.startsWith('*') || declaredChain(line) !== undefined) continue;
    const chain = filledChain(line, counts);
    if (chain === undefined) {
      rest.push({ table, line });
      continue;
    }
    const filled = filling.get(chain) ?? [];
    filling.set(chain, filled);
    filled.push({ table, line });
    if (filled.length < (counts.get(chain) ?? 0)) continue;
    filling.delete(chain);
    step.push(table.declare(chain)[1]);
    for (const one of filled) step.push(one);
    if (full()) yield taken();
  }
  for (const { table, counts } of tables.values())
    for (const [name, count] of counts) if (count === 0) step.push(table.declare(name)[1]);
  yield requestsOf([...step, ...rest]);
}

/** The declared chains of each table, and how many lines fill each. */
function countRules(family: NatFamily, lines: Iterable<string>) {
  const tables = new Map<
    TableName,
    {
      readonly table: OpenTable;
      readonly counts: Map<string, number>;
      /** What came for chains that are not whole yet. */
      readonly filling: Map<string, Step>;
    }
  >();
  for (const { table, line } of inTables(lines)) {
    if (line.startsWith('*')) {
      if (tables.has(table)) return refuse(line);
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
