// Runs simulated packets through the rules of an nf_tables port, expression by expression, as the kernel would.
// Guarantees: an expression that it does not know is an error, not a match; dynamic sets keep what packets put into them.

import type { IpFamily } from '../../../proxy-modes/mode.js';
import { addressBytes, bigEndian, hostOrder, textBytes } from '../../../src/kernel/nftables/bytes.js';
import type { Expression, Verdict } from '../../../src/kernel/nftables/expression.js';
import type { Chain, ListedRule, NftPort, NftSet, SetElement } from '../../../src/kernel/nftables/port.js';
import { isLocal, type Machine, type Outcome, type Packet } from './packet.js';

const PROTOCOLS: Readonly<Record<string, number>> = { tcp: 6, udp: 17, sctp: 132 };
const SIZES: Readonly<Record<string, number>> = {
  ipv4_addr: 4,
  ipv6_addr: 16,
  inet_proto: 1,
  inet_service: 2,
  integer: 4,
};

interface LoadedSet {
  readonly set: Omit<NftSet, 'type'> & { readonly type?: NftSet['type'] };
  readonly elements: Map<string, SetElement>;
}

interface Loaded {
  readonly chains: readonly Chain[];
  readonly rules: ReadonlyMap<string, readonly ListedRule[]>;
  readonly sets: ReadonlyMap<string, LoadedSet>;
}

/** What packets have put into sets; shared by the packets of one test. */
export type Dynamic = Map<string, Set<string>>;

interface TraceOptions {
  readonly nft: NftPort;
  readonly table: string;
  readonly machine: Machine;
  readonly dynamic?: Dynamic;
}

export async function traceNft(options: TraceOptions, packet: Packet): Promise<Outcome> {
  const ruleset = await load(options, packet.family);
  const run = new Run(ruleset, options, { ...packet });
  const entry = packet.device === undefined ? 'output' : 'prerouting';
  const goesIn = () => isLocal(options.machine, run.packet.destination);
  const hooks = [
    entry,
    () => (packet.device === undefined ? undefined : goesIn() ? 'input' : 'forward'),
  ] as const;
  for (const hook of [...hooks, () => (goesIn() ? undefined : 'postrouting')]) {
    const name = typeof hook === 'function' ? hook() : hook;
    if (name !== undefined && run.hook(name) !== 'accept') break;
  }
  return run.outcome();
}

async function load({ nft, table }: TraceOptions, family: IpFamily): Promise<Loaded> {
  const [chains, rules, sets] = await Promise.all([
    nft.chains({ family, table }),
    nft.rules({ family, table }),
    nft.sets({ family, table }),
  ]);
  const byChain = new Map<string, ListedRule[]>();
  for (const rule of rules) byChain.set(rule.chain, [...(byChain.get(rule.chain) ?? []), rule]);
  const loaded = await Promise.all(
    sets.map(async (set) => {
      const elements = await nft.elements({ family, table, set: set.name });
      const keyed = elements.map((element) => [hexKey(set.type ?? [], element.key), element] as const);
      return [set.name, { set, elements: new Map(keyed) }] as const;
    }),
  );
  return { chains, rules: byChain, sets: new Map(loaded) };
}

/** The bytes of a key, each field filled up to four, as registers hold it. */
function hexKey(types: readonly string[], key: string): string {
  const parts = types.length === 1 ? [key] : key.split(' . ');
  return parts
    .map((part, i) => {
      const type = types[i] ?? '';
      if (type.endsWith('_addr')) return addressBytes(part);
      const size = SIZES[type] ?? 4;
      const number = PROTOCOLS[part] ?? Number(part);
      // Numbers without a type of their own lie as the host has them.
      return type === 'integer' || type === 'mark'
        ? hostOrder(number)
        : bigEndian(number, size).padEnd(8, '0');
    })
    .join('');
}

type RuleResult = { readonly verdict: Verdict } | 'next' | 'nat' | 'reject';

class Run {
  readonly #ruleset: Loaded;
  readonly #options: TraceOptions;

  readonly #registers = new Uint8Array(64);
  #mark = 0;
  #masqueraded = false;
  #translated = false;
  #end: 'accept' | 'drop' | 'reject' = 'accept';

  constructor(
    ruleset: Loaded,
    options: TraceOptions,
    readonly packet: { -readonly [K in keyof Packet]: Packet[K] },
  ) {
    this.#ruleset = ruleset;
    this.#options = options;
  }

  outcome(): Outcome {
    const { destination, destinationPort } = this.packet;
    return { verdict: this.#end, to: `${destination} ${destinationPort}`, masqueraded: this.#masqueraded };
  }

  hook(name: string): 'accept' | 'drop' | 'reject' {
    const chains = this.#ruleset.chains
      .filter((chain) => chain.hook === name)
      .sort((a, b) => (a.priority ?? 0) - (b.priority ?? 0));
    for (const chain of chains) {
      const result = this.#chain(chain.name);
      if (result === 'drop' || result === 'reject') {
        this.#end = result;
        return result;
      }
    }
    return 'accept';
  }

  /** What a chain came to; undefined is the end of its rules, or `return`. */
  #chain(name: string): 'accept' | 'drop' | 'reject' | undefined {
    for (const { expressions } of this.#ruleset.rules.get(name) ?? []) {
      const result = this.#rule(expressions);
      if (result === 'next') continue;
      if (result === 'nat') return 'accept';
      if (result === 'reject') return 'reject';
      const { verdict } = result;
      if (verdict === 'accept' || verdict === 'drop') return verdict;
      if (verdict === 'return') return undefined;
      const under = this.#chain(verdict.slice(5));
      if (under !== undefined || verdict.startsWith('goto ')) return under;
    }
    return undefined;
  }

  #rule(expressions: readonly Expression[]): RuleResult {
    for (const expression of expressions) {
      const result = this.#expression(expression);
      if (result === 'break') return 'next';
      if (result !== undefined) return result;
    }
    return 'next';
  }

  #expression(expression: Expression): RuleResult | 'break' | undefined {
    const goOn = (isSo: boolean) => (isSo ? undefined : 'break');
    if ('immediate' in expression && 'value' in expression.immediate)
      this.#write(expression.immediate.dreg, expression.immediate.value);
    else if ('payload' in expression && 'dreg' in expression.payload) {
      const { base, offset, length, dreg } = expression.payload;
      this.#write(dreg, this.#payload(base, offset, length));
    } else if ('meta' in expression) {
      const { meta } = expression;
      if ('sreg' in meta) this.#mark = Number.parseInt(reverse(this.#read(meta.sreg, 4)), 16);
      else this.#write(meta.dreg, this.#meta(meta.key));
    } else if ('ct' in expression && 'dreg' in expression.ct) {
      const { key, dreg } = expression.ct;
      this.#write(dreg, hostOrder(key === 'state' ? 8 : this.#translated ? 32 : 0));
    } else if ('fib' in expression) {
      const { flags, dreg } = expression.fib;
      const ip = flags.includes('saddr') ? this.packet.source : this.packet.destination;
      this.#write(dreg, hostOrder(isLocal(this.#options.machine, ip) ? 2 : 1));
    } else if ('numgen' in expression) {
      const { modulus, dreg } = expression.numgen;
      this.#write(dreg, hostOrder(Math.floor(this.#options.machine.random() * modulus)));
    } else if ('bitwise' in expression && 'mask' in expression.bitwise) {
      const { sreg, dreg, length, mask, xor } = expression.bitwise;
      const value = (BigInt(`0x${this.#read(sreg, length)}`) & BigInt(`0x${mask}`)) ^ BigInt(`0x${xor}`);
      this.#write(dreg, bigEndian(value, length));
    } else if ('cmp' in expression) {
      const { sreg, op, value } = expression.cmp;
      return goOn((this.#read(sreg, value.length / 2) === value) === (op === 'eq'));
    } else if ('lookup' in expression) return this.#lookup(expression.lookup);
    else if ('dynset' in expression) this.#dynset(expression.dynset);
    else if ('immediate' in expression && 'verdict' in expression.immediate)
      return { verdict: expression.immediate.verdict };
    else if ('nat' in expression) return this.#dnat(expression.nat);
    else if ('masq' in expression) {
      this.#masqueraded = true;
      return 'nat';
    } else if ('reject' in expression) return 'reject';
    else throw new Error(`the tracer does not know ${JSON.stringify(expression)}`);
    return undefined;
  }

  #lookup({
    set,
    sreg,
    dreg,
    flags,
  }: Extract<Expression, { lookup: unknown }>['lookup']): RuleResult | 'break' | undefined {
    const loaded = this.#ruleset.sets.get(set);
    if (loaded === undefined) throw new Error(`no set ${set}`);
    const types = loaded.set.type ?? [];
    const length = types.reduce((sum, type) => sum + 4 * Math.ceil((SIZES[type] ?? 4) / 4), 0);
    const key = this.#read(sreg, length);
    if (this.#options.dynamic?.get(set)?.has(key) === true) return undefined;
    const element = loaded.elements.get(key);
    if ((element === undefined) !== (flags?.includes('invert') ?? false)) return 'break';
    if (element?.verdict !== undefined) return { verdict: element.verdict };
    if (element?.data !== undefined && dreg !== undefined)
      this.#write(dreg, hexKey((loaded.set.mapType ?? []) as readonly string[], element.data));
    return undefined;
  }

  #dynset({ set, sregKey }: Extract<Expression, { dynset: unknown }>['dynset']): void {
    const { dynamic } = this.#options;
    if (dynamic === undefined) return;
    const clients = dynamic.get(set) ?? new Set<string>();
    dynamic.set(set, clients.add(this.#read(sregKey, this.packet.family === 'ip' ? 4 : 16)));
  }

  #dnat({ type, sregAddrMin = 1, sregProtoMin = 2 }: Extract<Expression, { nat: unknown }>['nat']): 'nat' {
    if (type !== 'dnat') throw new Error('only destinations are translated here');
    const bytes = this.#read(sregAddrMin, this.packet.family === 'ip' ? 4 : 16);
    this.packet.destination = textOf(bytes);
    this.packet.destinationPort = Number.parseInt(this.#read(sregProtoMin, 2), 16);
    this.#translated = true;
    return 'nat';
  }

  #payload(base: string, offset: number, length: number): string {
    const { source, destination, sourcePort, destinationPort, family } = this.packet;
    if (base === 'transport') return bigEndian(offset === 0 ? sourcePort : destinationPort, 2);
    const isSource = offset === (family === 'ip' ? 12 : 8);
    const bytes = addressBytes(isSource ? source : destination);
    if (bytes.length !== 2 * length) throw new Error(`no field of ${length} bytes at ${offset}`);
    return bytes;
  }

  #meta(key: string): string {
    if (key === 'l4proto') return bigEndian(PROTOCOLS[this.packet.protocol] ?? 0, 1);
    if (key === 'mark') return hostOrder(this.#mark);
    if (key === 'iifname') return textBytes(this.packet.device ?? '', 16);
    throw new Error(`the tracer does not know meta ${key}`);
  }

  /** Registers 1 to 4 hold 16 bytes; 8 to 23 hold 4 and lie over them. */
  #at = (register: number) => (register < 5 ? 16 * (register - 1) : 4 * (register - 8));
  /** A short value fills its last four bytes with zeros, as the kernel does. */
  #write(register: number, hex: string): void {
    const padded = hex.padEnd(Math.ceil(hex.length / 8) * 8, '0');
    this.#registers.set(Buffer.from(padded, 'hex'), this.#at(register));
  }
  #read(register: number, length: number): string {
    const start = this.#at(register);
    return Buffer.from(this.#registers.subarray(start, start + length)).toString('hex');
  }
}

const reverse = (hex: string) => (hex.match(/../g) ?? []).reverse().join('');

function textOf(hex: string): string {
  if (hex.length === 8) return (hex.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).join('.');
  return new URL(`http://[${(hex.match(/..../g) ?? []).join(':')}]`).hostname.slice(1, -1);
}
