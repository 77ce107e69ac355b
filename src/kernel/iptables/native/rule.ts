// One rule in the words of iptables-save as expressions of nf_tables, the way iptables' nft back end writes it. Pure.
// Guarantees: what is not surely understood is not translated at all (undefined): then the tool itself must do it.
import { addressBytes, bigEndian, hostOrder, maskBytes, textBytes } from '../../nftables/bytes.js';
import type { Expression, Verdict } from '../../nftables/expression.js';
import * as xt from './extensions.js';

export interface NativeRule {
  readonly expressions: readonly Expression[];
  /** The number of "-p", which extensions are told. */
  readonly protocol?: number;
}

const PROTOCOLS = { tcp: 6, udp: 17, sctp: 132 } as const;
type Protocol = keyof typeof PROTOCOLS;
const isProtocol = (word: string): word is Protocol => word in PROTOCOLS;
const VERDICTS: Readonly<Record<string, Verdict>> = { ACCEPT: 'accept', DROP: 'drop', RETURN: 'return' };

/** Thrown inside and turned into undefined. */
class NotUnderstood extends Error {}
const refuse = (what: string): never => {
  throw new NotUnderstood(what);
};

export function nativeRule(family: xt.NatFamily, words: readonly string[]): NativeRule | undefined {
  try {
    return new Reader(family, words).rule();
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

type Op = 'eq' | 'neq';

class Reader {
  readonly #family: xt.NatFamily;
  readonly #words: readonly string[];
  #at = 0;
  /** What stands in the rule's head, in the order in which the kernel is to check it. */
  readonly #device: Expression[] = [];
  readonly #addresses: Expression[] = [];
  readonly #matches: Expression[] = [];
  #protocol: Protocol | undefined;

  constructor(family: xt.NatFamily, words: readonly string[]) {
    this.#family = family;
    this.#words = words;
  }

  rule(): NativeRule {
    let verdict: Expression[] | undefined;
    while (this.#at < this.#words.length && verdict === undefined) {
      const op: Op = this.#takeIf('!') ? 'neq' : 'eq';
      const option = this.#take();
      if (option === '-j' && op === 'eq') verdict = this.#target(this.#take());
      else this.#head(option, op);
    }
    if (verdict === undefined || this.#at < this.#words.length) return refuse('what comes after the target');
    const protocol = this.#protocol === undefined ? undefined : PROTOCOLS[this.#protocol];
    return {
      expressions: [
        ...this.#device,
        ...(protocol === undefined ? [] : [meta('l4proto'), compare('eq', bigEndian(protocol, 1))]),
        ...this.#addresses,
        ...this.#matches,
        { counter: {} },
        ...verdict,
      ],
      ...(protocol === undefined ? {} : { protocol }),
    };
  }

  #take(): string {
    const word = this.#words[this.#at];
    this.#at += 1;
    return word ?? refuse('a word too few');
  }

  #takeIf(word: string): boolean {
    if (this.#words[this.#at] !== word) return false;
    this.#at += 1;
    return true;
  }

  #number(text = this.#take(), most = 0xffffffff): number {
    const number = /^(?:\d+|0x[\da-f]+)$/.test(text) ? Number(text) : Number.NaN;
    return number <= most ? number : refuse(text);
  }

  #head(option: string, op: Op): void {
    if (option === '-s' || option === '-d') {
      this.#addresses.push(
        ...address(this.#family, option === '-s' ? 'source' : 'destination', this.#take(), op),
      );
    } else if (option === '-i') {
      this.#device.push(meta('iifname'), deviceName(this.#take(), op));
    } else if (option === '-p' && op === 'eq') {
      const protocol = this.#take();
      this.#protocol = isProtocol(protocol) ? protocol : refuse(protocol);
    } else if (option === '-m' && op === 'eq') {
      this.#matches.push(...this.#match(this.#take()));
    } else {
      refuse(option);
    }
  }

  #match(name: string): Expression[] {
    switch (name) {
      case 'comment':
        return this.#takeIf('--comment') ? [this.#comment(this.#take())] : refuse(name);
      case 'conntrack':
        return this.#takeIf('--ctstate') ? [xt.conntrack(ctStates(this.#take()))] : refuse(name);
      case 'mark':
        return this.#mark(this.#takeIf('!') ? 'neq' : 'eq');
      case 'addrtype': {
        const which = this.#take();
        if (this.#take() !== 'LOCAL') return refuse(name);
        if (which === '--src-type') return [xt.addrtype('src')];
        return which === '--dst-type' ? [xt.addrtype('dst')] : refuse(which);
      }
      case 'statistic':
        return [xt.statistic(this.#chance())];
      case 'recent':
        return [xt.recent(this.#recent())];
      default:
        return isProtocol(name) && name === this.#protocol ? [...this.#ports(name)] : refuse(name);
    }
  }

  #comment(words: string): Expression {
    return new TextEncoder().encode(words).length < xt.COMMENT_BYTES
      ? xt.comment(words)
      : refuse('its length');
  }

  #mark(op: Op): Expression[] {
    if (!this.#takeIf('--mark')) return refuse('mark');
    const [value = '', mask = ''] = this.#take().split('/');
    const bits = hostOrder(this.#number(mask));
    return [
      meta('mark'),
      { bitwise: { sreg: 1, dreg: 1, length: 4, mask: bits, xor: '00000000' } },
      compare(op, hostOrder(this.#number(value))),
    ];
  }

  #chance(): number {
    const isRandom = this.#takeIf('--mode') && this.#takeIf('random') && this.#takeIf('--probability');
    const chance = isRandom ? Number(this.#take()) : Number.NaN;
    return chance > 0 && chance < 1 ? Math.round(chance * 0x80000000) : refuse('statistic');
  }

  #recent(): xt.Recent {
    const does: xt.Recent['does'] = this.#takeIf('--set')
      ? ['set']
      : this.#takeIf('--rcheck')
        ? ['rcheck']
        : refuse('recent');
    const seconds = this.#takeIf('--seconds') ? this.#number() : 0;
    const reap = this.#takeIf('--reap') ? (['reap'] as const) : [];
    const name = this.#takeIf('--name') ? this.#take() : refuse('recent');
    const mask = this.#takeIf('--mask') ? this.#take() : refuse('recent');
    if (!this.#takeIf('--rsource') || name.length > 199) return refuse('recent');
    return { does: [...does, ...reap], seconds, name, mask };
  }

  #ports(protocol: Protocol): readonly Expression[] {
    const port = this.#takeIf('--dport') ? this.#number(this.#take(), 65_535) : undefined;
    if (protocol === 'sctp') return [xt.sctp(port)];
    if (port === undefined) return [xt.anyPorts(protocol)];
    return [
      { payload: { base: 'transport', offset: 2, length: 2, dreg: 1 } },
      compare('eq', bigEndian(port, 2)),
    ];
  }

  #target(name: string): Expression[] {
    const verdict = VERDICTS[name];
    if (verdict !== undefined) return [{ immediate: { verdict } }];
    switch (name) {
      case 'MARK': {
        const [value = '', mask = ''] = this.#takeIf('--set-xmark') ? this.#take().split('/') : refuse(name);
        return [xt.mark(this.#number(value), this.#number(mask))];
      }
      case 'REJECT': {
        const how = this.#takeIf('--reject-with') ? this.#take() : refuse(name);
        const own = this.#family === 'ip' ? 'icmp-port-unreachable' : 'icmp6-port-unreachable';
        return how === own ? [xt.reject(own)] : refuse(how);
      }
      case 'DNAT':
        return [this.#takeIf('--to-destination') ? this.#dnat(this.#take()) : refuse(name)];
      case 'REDIRECT':
        return [
          xt.redirect(
            this.#family,
            this.#takeIf('--to-ports') ? this.#number(this.#take(), 65_535) : refuse(name),
          ),
        ];
      case 'MASQUERADE':
        return [xt.masquerade(this.#family, this.#takeIf('--random-fully'))];
      default:
        // A name that is no chain's either is refused by the kernel.
        return [{ immediate: { verdict: `jump ${name}` } }];
    }
  }

  #dnat(place: string): Expression {
    const [, ip, port] =
      /^(?:\[([\da-f:]+)\]|([\d.]+)):(\d+)$/.exec(place)?.filter((part) => part !== undefined) ?? [];
    if (ip === undefined || port === undefined || ip.includes(':') !== (this.#family === 'ip6'))
      return refuse(place);
    return xt.dnat(ip, this.#number(port, 65_535));
  }
}

const meta = (key: 'l4proto' | 'mark' | 'iifname'): Expression => ({ meta: { key, dreg: 1 } });
const compare = (op: Op, value: string): Expression => ({ cmp: { sreg: 1, op, value } });

/** "veth+" compares what comes before the plus; a whole name is compared with the NUL that ends it. */
function deviceName(name: string, op: Op): Expression {
  if (name.length > 15 || name === '+') return refuse(name);
  return compare(op, name.endsWith('+') ? textBytes(name.slice(0, -1), 0) : textBytes(name, name.length + 1));
}

const PLACES = {
  ip: { source: 12, destination: 16, length: 4 },
  ip6: { source: 8, destination: 24, length: 16 },
} as const;

/** Whole bytes of a prefix are compared as they are; others need a mask. */
function address(family: xt.NatFamily, which: 'source' | 'destination', text: string, op: Op): Expression[] {
  const [ip = '', prefix = ''] = text.split('/');
  const { [which]: offset, length } = PLACES[family];
  const ones = /^\d+$/.test(prefix) ? Number(prefix) : 0;
  const value = addressBytes(ip);
  if (value.length !== 2 * length || ones < 1 || ones > 8 * length) return refuse(text);
  const load = (bytes: number): Expression => ({
    payload: { base: 'network', offset, length: bytes, dreg: 1 },
  });
  if (ones % 8 === 0) return [load(ones / 8), compare(op, value.slice(0, ones / 4))];
  const mask = maskBytes(ones, length);
  const network = bigEndian(BigInt(`0x${value}`) & BigInt(`0x${mask}`), length);
  return [
    load(length),
    { bitwise: { sreg: 1, dreg: 1, length, mask, xor: '00'.repeat(length) } },
    compare(op, network),
  ];
}

function ctStates(words: string): number {
  return words
    .split(',')
    .reduce((bits, word) => bits | (xt.CT_STATES[word as keyof typeof xt.CT_STATES] ?? refuse(word)), 0);
}
