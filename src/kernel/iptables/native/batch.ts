// Lines of an iptables-restore as transactions of nf_tables, one unless there are very many lines. Pure.
// Guarantees: a line that is not surely understood is told, not guessed; done by the kernel, the transactions leave what
// the tool's nft back end would leave, and between two of them every chain is whole.
import type { BaseChain, NftRequest } from '../../nftables/port.js';
import { words } from '../model.js';
import type { TableName } from '../port.js';
import { nftRule } from './expressions.js';
import type { NatFamily } from './extensions.js';
import { readRule } from './rule.js';
import { declaredChain, MAX_CHAIN_NAME, sectionsOf } from './sections.js';

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

interface Section {
  readonly table: OpenTable;
  readonly lines: readonly string[];
}

/** A restore of more lines goes in several transactions: one would take hundreds of megabytes to make. */
const MOST_LINES = 4_000;

/**
 * The transactions of a restore, to be done one after the other; undefined in place of one means that a line was not
 * understood: the tool must do the whole restore then, which it can whatever was done before.
 */
export function* nativeSteps(
  family: NatFamily,
  lines: readonly string[],
  mostLines = MOST_LINES,
): Generator<readonly NftRequest[] | undefined> {
  const sections = sectionsOf(lines)?.map((section) => ({
    table: new OpenTable(family, section.table),
    lines: section.lines,
  }));
  if (sections === undefined) return yield undefined;
  if (lines.length > mostLines) return yield* largeSteps(sections, mostLines);
  const step: NftRequest[] = [];
  for (const { table, lines: own } of sections) {
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
 * First every chain is made, then each is filled, whole, then comes the rest: what jumps to them from elsewhere, and
 * what goes. Chains that others jump to are declared behind those, so they are filled from the last to the first.
 */
function* largeSteps(
  sections: readonly Section[],
  size: number,
): Generator<readonly NftRequest[] | undefined> {
  const plans = sections.map((section) => ({ table: section.table, ...sortLines(section.lines) }));
  let step: NftRequest[] = [];
  for (const { table, chains } of plans) {
    step.push(table.made);
    for (const name of chains.keys()) {
      const [made] = table.declare(name) ?? [];
      if (made === undefined) return yield undefined;
      step.push(made);
      if (step.length < size) continue;
      yield step;
      step = [];
    }
  }
  for (const { table, chains } of plans)
    for (const [name, rules] of [...chains].reverse()) {
      const [, emptied] = table.declare(name) ?? [];
      if (emptied !== undefined) step.push(emptied);
      for (const line of rules) {
        const requests = table.requests(line);
        if (requests === undefined) return yield undefined;
        step.push(...requests);
      }
      if (step.length < size) continue;
      yield step;
      step = [];
    }
  for (const { table, rest } of plans)
    for (const line of rest) {
      const requests = table.requests(line);
      if (requests === undefined) return yield undefined;
      step.push(...requests);
    }
  yield step;
}

/** The declared chains, each with the lines that fill it, and the other lines. */
function sortLines(lines: readonly string[]) {
  const chains = new Map<string, string[]>();
  const rest: string[] = [];
  for (const line of lines) {
    const name = declaredChain(line);
    if (name !== undefined) {
      chains.set(name, []);
      continue;
    }
    const [command, chain = ''] = line.split(' ', 2);
    const filled = command === '-A' ? chains.get(chain) : undefined;
    (filled ?? rest).push(line);
  }
  return { chains, rest };
}
