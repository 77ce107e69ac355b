// Reads what iptables-save prints. Pure.
// Guarantees: every line is understood or refused by number; comments are skipped.
import { KernelError } from '../error.js';
import type { Chain, Ruleset, Table } from './port.js';

interface OpenChain extends Chain {
  readonly rules: string[];
}
interface OpenTable extends Table {
  readonly chains: Map<string, OpenChain>;
}

const CHAIN = /^:(\S+) (\S+)(?: \[(\d+):(\d+)\])?$/;
const RULE = /^(?:\[\d+:\d+\] )?-A (\S+)/;

/** Takes lines one by one, so that a long list can be read in slices. */
export class SaveParser {
  readonly #tables = new Map<string, OpenTable>();
  #table: OpenTable | undefined;
  #line = 0;

  push(line: string): void {
    this.#line += 1;
    if (line === '' || line.startsWith('#')) return;
    if (line.startsWith('*')) this.#open(line.slice(1));
    else if (line === 'COMMIT') this.#table = undefined;
    else if (line.startsWith(':')) this.#declare(line);
    else this.#append(line);
  }

  ruleset(): Ruleset {
    if (this.#table !== undefined) throw this.#refusal('table without COMMIT', this.#table.name);
    return this.#tables;
  }

  #open(name: string): void {
    this.#table = { name, chains: new Map() };
    this.#tables.set(name, this.#table);
  }

  #declare(line: string): void {
    const [, name, policy, packets = '0', bytes = '0'] = CHAIN.exec(line) ?? [];
    if (name === undefined || policy === undefined || this.#table === undefined)
      throw this.#refusal('chain not understood', line);
    this.#table.chains.set(name, {
      name,
      policy: policy === '-' ? null : policy,
      packets: Number(packets),
      bytes: Number(bytes),
      rules: [],
    });
  }

  #append(line: string): void {
    const name = RULE.exec(line)?.[1];
    const chain = name === undefined ? undefined : this.#table?.chains.get(name);
    if (chain === undefined) throw this.#refusal('rule of no known chain', line);
    chain.rules.push(line);
  }

  #refusal(what: string, text: string): KernelError {
    return new KernelError([
      {
        code: 'EBADMSG',
        message: `read the saved rules: line ${this.#line}: ${what}: ${text}`,
        operation: 'read the saved rules',
        kernel: '',
        errno: 74,
        index: this.#line - 1,
      },
    ]);
  }
}

/** The whole of a saved text at once. */
export function parseSave(text: string): Ruleset {
  const parser = new SaveParser();
  for (const line of text.split('\n')) parser.push(line);
  return parser.ruleset();
}
