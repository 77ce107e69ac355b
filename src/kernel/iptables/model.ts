// One table as a restore changes it: chains, rules, and the refusals of the real tool. Pure.
// Guarantees: a refused line throws a Refused with the tool's words and leaves the caller to drop the table.
import type { Chain, TableName } from './port.js';

/** What the tool prints before it names the line. */
export class Refused extends Error {}

interface ModelChain {
  readonly name: string;
  policy: string | null;
  packets: number;
  bytes: number;
  readonly rules: string[][];
}

export const BUILT_IN: Readonly<Record<TableName, readonly string[]>> = {
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  raw: ['PREROUTING', 'OUTPUT'],
  security: ['INPUT', 'FORWARD', 'OUTPUT'],
};

const NO_CHAIN = 'No chain/target/match by that name.';
const MAX_NAME = 28;
const VERDICTS = ['ACCEPT', 'DROP', 'RETURN', 'QUEUE'];
const TARGETS = new Set([
  ...VERDICTS,
  'DNAT',
  'SNAT',
  'MASQUERADE',
  'REDIRECT',
  'NETMAP',
  'REJECT',
  'MARK',
  'CONNMARK',
  'CT',
  'NOTRACK',
  'LOG',
  'NFLOG',
  'TPROXY',
  'TCPMSS',
  'TRACE',
  'CHECKSUM',
  'CLASSIFY',
  'DSCP',
  'TTL',
  'HL',
  'SET',
  'TEE',
  'NFQUEUE',
]);
const MATCHES = new Set([
  'addrtype',
  'comment',
  'conntrack',
  'state',
  'mark',
  'connmark',
  'multiport',
  'set',
  'statistic',
  'recent',
  'tcp',
  'udp',
  'sctp',
  'icmp',
  'icmp6',
  'physdev',
  'limit',
  'hashlimit',
  'owner',
  'rpfilter',
  'socket',
  'mac',
  'iprange',
  'length',
  'pkttype',
  'connlimit',
  'u32',
  'string',
  'time',
  'cgroup',
  'tcpmss',
  'dscp',
  'ttl',
]);

/** Words of a line; double quotes keep blanks together, as in saved comments. */
export function words(line: string): string[] {
  const found = line.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? [];
  return found.map((word) => (word.startsWith('"') ? word.slice(1, -1).replaceAll(/\\(.)/g, '$1') : word));
}

const quoted = (word: string) => (/[\s"'\\]/.test(word) ? `"${word.replaceAll(/(["\\])/g, '\\$1')}"` : word);

export class ModelTable {
  readonly chains = new Map<string, ModelChain>();

  constructor(readonly name: TableName) {
    for (const chain of BUILT_IN[name]) this.#make(chain, 'ACCEPT');
  }

  /** An independent copy, to change until its COMMIT. */
  copy(): ModelTable {
    const copy = new ModelTable(this.name);
    copy.chains.clear();
    for (const [name, chain] of this.chains)
      copy.chains.set(name, { ...chain, rules: chain.rules.map((rule) => [...rule]) });
    return copy;
  }

  saved(): Map<string, Chain> {
    const write = (chain: ModelChain): Chain => ({
      ...chain,
      rules: chain.rules.map((rule) => ['-A', chain.name, ...rule.map(quoted)].join(' ')),
    });
    return new Map([...this.chains].map(([name, chain]) => [name, write(chain)]));
  }

  /** ":NAME POLICY [packets:bytes]" without flushing: a chain of ours is emptied or made, a built-in one keeps its rules. */
  declare(name: string, policy: string, counters: readonly [number, number] | undefined): void {
    if (this.#isBuiltIn(name)) {
      if (policy === '-') return;
      this.setPolicy(name, policy);
      const [packets, bytes] = counters ?? [0, 0];
      Object.assign(this.#chain(name), { packets, bytes });
      return;
    }
    const chain = this.chains.get(name);
    if (chain !== undefined) chain.rules.length = 0;
    else this.newChain(name);
  }

  newChain(name: string): void {
    if (name.length > MAX_NAME) throw new Refused(`chain name \`${name}' too long (must be under 29 chars)`);
    if (/^[-!]/.test(name)) throw new Refused(`chain name not allowed to start with \`${name[0]}'`);
    if (this.chains.has(name)) throw new Refused('Chain already exists.');
    this.#make(name, null);
  }

  setPolicy(name: string, policy: string): void {
    if (!this.#isBuiltIn(name)) throw new Refused('Bad built-in chain name.');
    if (policy !== 'ACCEPT' && policy !== 'DROP')
      throw new Refused("Bad policy name. Run `dmesg' for more information.");
    this.#chain(name).policy = policy;
  }

  append(name: string, rule: string[]): void {
    const chain = this.#chain(name);
    this.#checkRule(rule);
    chain.rules.push(rule);
  }

  /** `rule` may begin with the place, counted from 1. */
  insert(name: string, rule: string[]): void {
    const chain = this.#chain(name);
    const isPlaced = /^\d+$/.test(rule[0] ?? '');
    const at = isPlaced ? Number(rule[0]) : 1;
    const rest = isPlaced ? rule.slice(1) : rule;
    this.#checkRule(rest);
    if (at < 1 || at > chain.rules.length + 1) throw new Refused('Index of insertion too big.');
    chain.rules.splice(at - 1, 0, rest);
  }

  replace(name: string, [place = '', ...rule]: string[]): void {
    const chain = this.#chain(name);
    this.#checkRule(rule);
    const at = Number(place);
    if (chain.rules[at - 1] === undefined) throw new Refused('Index of replacement too big.');
    chain.rules[at - 1] = rule;
  }

  /** By place or by what the rule says. */
  remove(name: string, rule: string[]): void {
    const chain = this.#chain(name);
    const isPlaced = rule.length === 1 && /^\d+$/.test(rule[0] ?? '');
    if (!isPlaced) this.#checkRule(rule);
    const text = JSON.stringify(rule);
    const at = isPlaced
      ? Number(rule[0]) - 1
      : chain.rules.findIndex((candidate) => JSON.stringify(candidate) === text);
    if (chain.rules[at] === undefined)
      throw new Refused(
        isPlaced ? 'Index of deletion too big.' : 'Bad rule (does a matching rule exist in that chain?).',
      );
    chain.rules.splice(at, 1);
  }

  flush(name?: string): void {
    for (const chain of name === undefined ? this.chains.values() : [this.#chain(name)])
      chain.rules.length = 0;
  }

  deleteChain(name?: string): void {
    if (name === undefined) {
      for (const chain of [...this.chains.keys()]) if (!this.#isBuiltIn(chain)) this.deleteChain(chain);
      return;
    }
    const isBusy = this.#chain(name).rules.length > 0 || this.#isBuiltIn(name) || this.#isJumpedTo(name);
    if (isBusy) throw new Refused(`CHAIN_DEL failed (Device or resource busy): chain ${name}`);
    this.chains.delete(name);
  }

  zero(name?: string): void {
    for (const chain of name === undefined ? this.chains.values() : [this.#chain(name)])
      Object.assign(chain, { packets: 0, bytes: 0 });
  }

  #make(name: string, policy: string | null): void {
    this.chains.set(name, { name, policy, packets: 0, bytes: 0, rules: [] });
  }

  #isBuiltIn(name: string): boolean {
    return BUILT_IN[this.name].includes(name);
  }

  #chain(name: string): ModelChain {
    const chain = this.chains.get(name);
    if (chain === undefined) throw new Refused(NO_CHAIN);
    return chain;
  }

  #isJumpedTo(name: string): boolean {
    return [...this.chains.values()].some((chain) =>
      chain.rules.some((rule) => targetOf(rule)?.name === name),
    );
  }

  #checkRule(rule: readonly string[]): void {
    for (const [i, word] of rule.entries()) {
      const match = rule[i + 1];
      if ((word === '-m' || word === '--match') && match !== undefined && !MATCHES.has(match))
        throw new Refused(`Couldn't load match \`${match}':No such file or directory`);
    }
    const target = targetOf(rule);
    if (target === undefined || this.chains.has(target.name)) return;
    if (target.isGoto) throw new Refused(`goto '${target.name}' is not a chain`);
    if (!TARGETS.has(target.name))
      throw new Refused(`Couldn't load target \`${target.name}':No such file or directory`);
  }
}

function targetOf(rule: readonly string[]): { name: string; isGoto: boolean } | undefined {
  const at = rule.findIndex((word) => /^(?:-j|--jump|-g|--goto)$/.test(word));
  const name = rule[at + 1];
  return at === -1 || name === undefined ? undefined : { name, isGoto: /g/.test(rule[at] ?? '') };
}
