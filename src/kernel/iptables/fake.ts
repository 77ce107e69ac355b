// iptables in memory, for tests of what stands above it: restore transactions applied to a model.
// Guarantees: the contract suite that the real tools pass; rules are kept as given, so give them as the tool saves them.
import { brokenLine, restoreError } from './failure.js';
import { BUILT_IN, ModelTable, Refused, words } from './model.js';
import type {
  IptablesBackend,
  IptablesFamily,
  IptablesPort,
  RestoreOptions,
  Ruleset,
  TableName,
} from './port.js';

const COUNTED = /^\[(\d+):(\d+)\]\s*/;
const DECLARED = /^:(\S+)\s+(\S+)(?:\s+\[(\d+):(\d+)\])?\s*$/;

export class FakeIptables implements IptablesPort {
  readonly family: IptablesFamily;
  readonly backend: IptablesBackend;
  readonly #tables = new Map<TableName, ModelTable>();
  /** Every restore that was asked for, for tests that count them. */
  readonly restored: (readonly string[])[] = [];

  constructor(options: { readonly family?: IptablesFamily; readonly backend?: IptablesBackend } = {}) {
    this.family = options.family ?? 'inet';
    this.backend = options.backend ?? 'nft';
  }

  async restore(given: Iterable<string>, { counters = false }: RestoreOptions = {}): Promise<void> {
    const lines = [...given];
    const broken = brokenLine(lines);
    if (broken !== undefined) throw broken;
    this.restored.push(lines);
    let open: ModelTable | undefined;
    for (const [index, line] of lines.entries()) {
      try {
        open = this.#step(line, open, counters);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        throw this.#refusal(`line ${index + 1} failed: ${error.message}`, lines);
      }
    }
    if (open !== undefined) throw this.#refusal(`COMMIT expected at line ${lines.length + 1}`, lines);
  }

  async save(table?: TableName): Promise<Ruleset> {
    const wanted = [...this.#tables.values()].filter(({ name }) => table === undefined || name === table);
    return new Map(wanted.map((model) => [model.name, { name: model.name, chains: model.saved() }]));
  }

  async stamp(tables: readonly TableName[]): Promise<string> {
    const saved = await this.save();
    return JSON.stringify(
      tables.map((name) => [...(saved.get(name)?.chains.values() ?? [])].map(({ rules }) => rules.length)),
    );
  }

  close(): void {}

  /** Does one line on the table that is open; gives the table that is open after it. */
  #step(line: string, open: ModelTable | undefined, counters: boolean): ModelTable | undefined {
    if (line.trim() === '' || line.startsWith('#')) return open;
    if (line.startsWith('*')) return this.#open(line.slice(1).trim());
    if (open === undefined) throw new Refused('');
    if (line.trim() === 'COMMIT') {
      this.#tables.set(open.name, open);
      return undefined;
    }
    if (line.startsWith(':')) {
      const [, name, policy, packets, bytes] = DECLARED.exec(line) ?? [];
      if (name === undefined || policy === undefined) throw new Refused('');
      open.declare(name, policy, counters ? [Number(packets ?? 0), Number(bytes ?? 0)] : undefined);
      return open;
    }
    command(open, words(line.replace(COUNTED, '')));
    return open;
  }

  #open(name: string): ModelTable {
    if (!(name in BUILT_IN)) throw new Refused(`table name '${name}' invalid`);
    const table = name as TableName;
    return this.#tables.get(table)?.copy() ?? new ModelTable(table);
  }

  #refusal(stderr: string, lines: readonly string[]) {
    const tool = `${this.family === 'inet' ? 'iptables' : 'ip6tables'}-${this.backend}-restore`;
    return restoreError({ tool, stderr: `${tool}: ${stderr}\n`, status: 1, signal: null }, lines);
  }
}

type Command = (table: ModelTable, chain: string, rest: string[]) => void;

const WITH_CHAIN: Readonly<Record<string, Command>> = {
  '-A': (table, chain, rest) => table.append(chain, rest),
  '-I': (table, chain, rest) => table.insert(chain, rest),
  '-R': (table, chain, rest) => table.replace(chain, rest),
  '-D': (table, chain, rest) => table.remove(chain, rest),
  '-N': (table, chain) => table.newChain(chain),
  '-P': (table, chain, [policy = '']) => table.setPolicy(chain, policy),
};

/** Without a chain, these mean every chain. */
const FOR_ALL: Readonly<Record<string, (table: ModelTable, chain: string | undefined) => void>> = {
  '-F': (table, chain) => table.flush(chain),
  '-X': (table, chain) => table.deleteChain(chain),
  '-Z': (table, chain) => table.zero(chain),
};

const LONG: Readonly<Record<string, string>> = {
  '--append': '-A',
  '--insert': '-I',
  '--replace': '-R',
  '--delete': '-D',
  '--new-chain': '-N',
  '--policy': '-P',
  '--flush': '-F',
  '--delete-chain': '-X',
  '--zero': '-Z',
};

function command(table: ModelTable, [word = '', chain, ...rest]: string[]): void {
  const verb = LONG[word] ?? word;
  const one = WITH_CHAIN[verb];
  const any = FOR_ALL[verb];
  if (any !== undefined) any(table, chain);
  else if (one === undefined)
    throw new Refused(verb.startsWith('-') ? `unknown option "${verb}"` : `Bad argument \`${verb}'`);
  else if (chain === undefined) throw new Refused(`option "${verb}" requires an argument`);
  else one(table, chain, rest);
}
