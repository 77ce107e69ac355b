// Runs simulated packets through saved iptables rules, as the kernel would; the packet is the first of its connection.
// Guarantees: a match or target that it does not know is an error, not a match.
import { contains, parseCidr } from '../../../src/api/ip.js';
import type { Ruleset } from '../../../src/kernel/iptables/port.js';
import { isLocal, type Machine, type Outcome, type Packet } from './packet.js';

/** Clients that were remembered, by the name of the list. */
export type Recent = Map<string, Set<string>>;

interface IptablesTrace {
  readonly ruleset: Ruleset;
  readonly machine: Machine;
  readonly recent?: Recent;
  /** What `-m set` answers. */
  inSet?(set: string, directions: string, packet: Packet): boolean;
}

type End = 'ACCEPT' | 'DROP' | 'REJECT';

export function traceIptables(trace: IptablesTrace, packet: Packet): Outcome {
  const run = new Run(trace, { ...packet });
  const isOwn = packet.device === undefined;
  const goesIn = () => isLocal(trace.machine, run.packet.destination);
  const steps: (() => [string, string] | undefined)[] = [
    () => ['nat', isOwn ? 'OUTPUT' : 'PREROUTING'],
    () => (isOwn ? ['filter', 'OUTPUT'] : ['filter', goesIn() ? 'INPUT' : 'FORWARD']),
    () => (goesIn() ? undefined : ['nat', 'POSTROUTING']),
  ];
  let end: End = 'ACCEPT';
  for (const step of steps) {
    const place = step();
    end = place === undefined ? end : (run.chain(...place) ?? 'ACCEPT');
    if (end !== 'ACCEPT') break;
  }
  const { destination, destinationPort } = run.packet;
  const verdict = end === 'ACCEPT' ? 'accept' : end === 'DROP' ? 'drop' : 'reject';
  return { verdict, to: `${destination} ${destinationPort}`, masqueraded: run.masqueraded };
}

const words = (line: string) =>
  (line.match(/"(?:\\.|[^"\\])*"|\S+/g) ?? []).map((word) => word.replace(/^"(.*)"$/, '$1'));

class Run {
  readonly #trace: IptablesTrace;

  masqueraded = false;
  #mark = 0;

  constructor(
    trace: IptablesTrace,
    readonly packet: { -readonly [K in keyof Packet]: Packet[K] },
  ) {
    this.#trace = trace;
  }

  /** Undefined: the end of the chain, or RETURN. */
  chain(table: string, name: string): End | undefined {
    const chains = this.#trace.ruleset.get(table)?.chains;
    for (const line of chains?.get(name)?.rules ?? []) {
      const rule = words(line).slice(2);
      const at = rule.indexOf('-j');
      if (!this.#matches(rule.slice(0, at))) continue;
      const [target = '', ...args] = rule.slice(at + 1);
      if (target === 'RETURN') return undefined;
      const end = chains?.has(target) === true ? this.chain(table, target) : this.#target(target, args);
      if (end !== undefined) return end;
    }
    return undefined;
  }

  #target(target: string, args: readonly string[]): End | undefined {
    switch (target) {
      case 'ACCEPT':
      case 'DROP':
      case 'REJECT':
        return target;
      case 'MASQUERADE':
        this.masqueraded = true;
        return 'ACCEPT';
      case 'MARK': {
        const [value = 0, mask = 0] = (args[1] ?? '').split('/').map(Number);
        this.#mark = ((this.#mark & ~mask) ^ value) >>> 0;
        return undefined;
      }
      case 'DNAT': {
        const [, ip = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(args[1] ?? '') ?? [];
        this.packet.destination = ip;
        this.packet.destinationPort = Number(port);
        return 'ACCEPT';
      }
      default:
        throw new Error(`the tracer does not know the target ${target}`);
    }
  }

  #matches(rule: readonly string[]): boolean {
    let at = 0;
    const recent = this.#recent(rule);
    while (at < rule.length) {
      const isInverted = rule[at] === '!';
      if (isInverted) at += 1;
      const [word = '', value = ''] = rule.slice(at, at + 2);
      const answer = this.#match(word, value, rule.slice(at));
      if (answer.known === false) throw new Error(`the tracer does not know ${word} in ${rule.join(' ')}`);
      if (answer.isSo === isInverted) return false;
      at += answer.length;
    }
    return recent();
  }

  /** Done last: a packet is remembered only by a rule that it meets. */
  #recent(rule: readonly string[]): () => boolean {
    const name = rule[rule.indexOf('--name') + 1] ?? '';
    if (!rule.includes('recent')) return () => true;
    return () => {
      const clients = this.#trace.recent?.get(name) ?? new Set();
      if (rule.includes('--rcheck')) return clients.has(this.packet.source);
      this.#trace.recent?.set(name, clients.add(this.packet.source));
      return true;
    };
  }

  #match(
    word: string,
    value: string,
    rest: readonly string[],
  ): { isSo: boolean; length: number; known?: false } {
    const { packet } = this;
    const trace = this.#trace;
    const within = (ip: string) => {
      const cidr = parseCidr(value);
      return cidr !== undefined && contains(cidr, ip);
    };
    const answer = (isSo: boolean, length = 2) => ({ isSo, length });
    switch (word) {
      case '-s':
        return answer(within(packet.source));
      case '-d':
        return answer(within(packet.destination));
      case '-i':
        return answer(
          value.endsWith('+')
            ? (packet.device ?? '').startsWith(value.slice(0, -1))
            : packet.device === value,
        );
      case '-p':
        return answer(packet.protocol === value);
      case '-m':
      case '--comment':
      case '--mode':
      case '--seconds':
      case '--name':
      case '--mask':
        return answer(true);
      case '--reap':
      case '--rsource':
      case '--rcheck':
      case '--set':
        return answer(true, 1);
      case '--dport':
        return answer(packet.destinationPort === Number(value));
      case '--dst-type':
        return answer(isLocal(trace.machine, packet.destination));
      case '--src-type':
        return answer(isLocal(trace.machine, packet.source));
      case '--probability':
        return answer(trace.machine.random() < Number(value));
      case '--mark': {
        const [mark = 0, mask = 0xffffffff] = value.split('/').map(Number);
        return answer((this.#mark & mask) >>> 0 === mark);
      }
      case '--ctstate':
        return answer(value.split(',').includes('NEW'));
      case '--match-set':
        return answer(trace.inSet?.(value, rest[2] ?? '', packet) ?? false, 3);
      default:
        return { isSo: false, length: 1, known: false };
    }
  }
}
