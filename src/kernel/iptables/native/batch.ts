// Lines of an iptables-restore as one transaction of nf_tables. Pure.
// Guarantees: all lines or none (undefined); done by the kernel, they leave what the tool's nft back end would leave.
import type { BaseChain, NftRequest } from '../../nftables/port.js';
import { words } from '../model.js';
import type { TableName } from '../port.js';
import type { NatFamily } from './extensions.js';
import { nativeRule } from './rule.js';

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

const isTable = (name: string): name is TableName => name in BUILT_IN;
const DECLARED = /^:(\S+) - \[0:0\]$/;
/** The tool's limit. */
const MAX_NAME = 28;
const COMMANDS = { '-A': 'add', '-I': 'insert', '-D': 'delete' } as const;

/** One table at a time, up to its COMMIT. */
class OpenTable {
  readonly requests: NftRequest[] = [];
  readonly #emptied = new Set<string>();
  readonly #hooked = new Set<string>();

  constructor(
    readonly family: NatFamily,
    readonly name: TableName,
  ) {
    this.requests.push({ do: 'add', kind: 'table', family, name });
  }

  /** Whether the line was understood. */
  take(line: string): boolean {
    if (line.startsWith(':')) return this.#declare(DECLARED.exec(line)?.[1]);
    const [command = '', chain, ...rule] = words(line);
    if (chain === undefined) return false;
    if (command === '-X') return rule.length === 0 && this.#remove(chain);
    if (command !== '-A' && command !== '-I' && command !== '-D') return false;
    return this.#rule(COMMANDS[command], chain, rule);
  }

  #declare(name: string | undefined): boolean {
    if (name === undefined || name.length > MAX_NAME || name in BUILT_IN[this.name]) return false;
    const chain = { kind: 'chain', family: this.family, table: this.name, name } as const;
    this.requests.push({ do: 'add', ...chain }, { do: 'flush', ...chain });
    this.#emptied.add(name);
    return true;
  }

  /** The kernel would delete the rules, too, which the tool does not. */
  #remove(name: string): boolean {
    if (!this.#emptied.has(name)) return false;
    this.requests.push({ do: 'delete', kind: 'chain', family: this.family, table: this.name, name });
    return true;
  }

  #rule(verb: 'add' | 'insert' | 'delete', chain: string, rule: readonly string[]): boolean {
    const native = nativeRule(this.family, rule);
    if (native === undefined) return false;
    const place = { kind: 'rule', family: this.family, table: this.name, chain } as const;
    const hook = BUILT_IN[this.name][chain];
    if (hook !== undefined && verb !== 'delete' && !this.#hooked.has(chain)) {
      this.#hooked.add(chain);
      this.requests.push({
        do: 'add',
        kind: 'chain',
        family: this.family,
        table: this.name,
        name: chain,
        ...hook,
      });
    }
    this.requests.push(
      verb === 'delete'
        ? { do: verb, ...place, expressions: native.expressions }
        : { do: verb, ...place, ...native },
    );
    return true;
  }
}

export function nativeBatch(family: NatFamily, lines: readonly string[]): NftRequest[] | undefined {
  const requests: NftRequest[] = [];
  let open: OpenTable | undefined;
  for (const line of lines) {
    if (open === undefined) {
      const name = line.startsWith('*') ? line.slice(1) : '';
      if (!isTable(name)) return undefined;
      open = new OpenTable(family, name);
    } else if (line === 'COMMIT') {
      for (const request of open.requests) requests.push(request);
      open = undefined;
    } else if (!open.take(line)) {
      return undefined;
    }
  }
  return open === undefined ? requests : undefined;
}
