// One rule in the words of iptables-save, read: what it matches, and what happens then. Pure.
// Guarantees: what is not surely understood is refused: then the tool itself must do it.
import { addressBytes } from '../../nftables/bytes.js';
import type { Hex, XtExtension } from '../../nftables/expression.js';
import * as xt from './extensions.js';
import { refuse } from './sections.js';

export const PROTOCOLS = { tcp: 6, udp: 17, sctp: 132 } as const;
export type Protocol = keyof typeof PROTOCOLS;
const isProtocol = (word: string): word is Protocol => word in PROTOCOLS;
const VERDICTS = { ACCEPT: 'accept', DROP: 'drop', RETURN: 'return' } as const;
const isVerdict = (word: string): word is keyof typeof VERDICTS => word in VERDICTS;

export interface Network {
  readonly address: Hex;
  /** Leading bits that count. */
  readonly ones: number;
  readonly isNot: boolean;
}

/** One whose name ends in "+" stands for all that begin so. */
export interface Device {
  readonly name: string;
  readonly isNot: boolean;
}

/** What the two back ends write differently stands here in its own words. */
export type Match =
  | { readonly extension: XtExtension }
  | { readonly mark: { readonly value: number; readonly mask: number; readonly isNot: boolean } }
  /** The port of the rule's protocol that a packet goes to, or any. */
  | { readonly port: number | 'any' };

type Target =
  | { readonly verdict: (typeof VERDICTS)[keyof typeof VERDICTS] }
  /** A name that is no chain's either is refused when the rule is written. */
  | { readonly jump: string }
  | { readonly extension: XtExtension };

export interface Rule {
  readonly source?: Network;
  readonly destination?: Network;
  readonly device?: Device;
  readonly protocol?: Protocol;
  readonly matches: readonly Match[];
  readonly target: Target;
}

/** Throws NotUnderstood. */
export const readRule = (family: xt.NatFamily, words: readonly string[]): Rule =>
  new Reader(family, words).rule();

class Reader {
  readonly #family: xt.NatFamily;
  readonly #words: readonly string[];
  #at = 0;
  #head: { source?: Network; destination?: Network; device?: Device; protocol?: Protocol } = {};
  readonly #matches: Match[] = [];

  constructor(family: xt.NatFamily, words: readonly string[]) {
    this.#family = family;
    this.#words = words;
  }

  rule(): Rule {
    let target: Target | undefined;
    while (this.#at < this.#words.length && target === undefined) {
      const isNot = this.#takeIf('!');
      const option = this.#take();
      if (option === '-j' && !isNot) target = this.#target(this.#take());
      else this.#condition(option, isNot);
    }
    if (target === undefined || this.#at < this.#words.length) return refuse('what comes after the target');
    return { ...this.#head, matches: this.#matches, target };
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

  #condition(option: string, isNot: boolean): void {
    if (option === '-s') this.#once('source', this.#network(this.#take(), isNot));
    else if (option === '-d') this.#once('destination', this.#network(this.#take(), isNot));
    else if (option === '-i') this.#once('device', device(this.#take(), isNot));
    else if (option === '-p' && !isNot) {
      const protocol = this.#take();
      this.#once('protocol', isProtocol(protocol) ? protocol : refuse(protocol));
    } else if (option === '-m' && !isNot) this.#matches.push(this.#match(this.#take()));
    else refuse(option);
  }

  #once<Name extends 'source' | 'destination' | 'device' | 'protocol'>(
    name: Name,
    value: NonNullable<Rule[Name]>,
  ): void {
    if (this.#head[name] !== undefined) refuse(name);
    this.#head = { ...this.#head, [name]: value };
  }

  #network(text: string, isNot: boolean): Network {
    const [ip = '', prefix = ''] = text.split('/');
    const address = addressBytes(ip);
    const ones = /^\d+$/.test(prefix) ? Number(prefix) : 0;
    const isOurs = address.length === (this.#family === 'ip' ? 8 : 32);
    return isOurs && ones >= 1 && ones <= 4 * address.length ? { address, ones, isNot } : refuse(text);
  }

  #match(name: string): Match {
    switch (name) {
      case 'comment':
        return this.#takeIf('--comment') ? { extension: this.#comment(this.#take()) } : refuse(name);
      case 'conntrack':
        return this.#takeIf('--ctstate') ? { extension: xt.conntrack(ctStates(this.#take())) } : refuse(name);
      case 'mark':
        return { mark: this.#mark(this.#takeIf('!')) };
      case 'addrtype': {
        const which = this.#take();
        if (this.#take() !== 'LOCAL') return refuse(name);
        if (which === '--src-type') return { extension: xt.addrtype('src') };
        return which === '--dst-type' ? { extension: xt.addrtype('dst') } : refuse(which);
      }
      case 'statistic':
        return { extension: xt.statistic(this.#chance()) };
      case 'recent':
        return { extension: xt.recent(this.#recent()) };
      default:
        if (!isProtocol(name) || name !== this.#head.protocol) return refuse(name);
        return { port: this.#takeIf('--dport') ? this.#number(this.#take(), 65_535) : 'any' };
    }
  }

  #comment(words: string): XtExtension {
    return new TextEncoder().encode(words).length < xt.COMMENT_BYTES
      ? xt.comment(words)
      : refuse('its length');
  }

  #mark(isNot: boolean) {
    const [value = '', mask = ''] = this.#takeIf('--mark') ? this.#take().split('/') : refuse('mark');
    return { value: this.#number(value), mask: this.#number(mask), isNot };
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

  #target(name: string): Target {
    if (isVerdict(name)) return { verdict: VERDICTS[name] };
    const extension = this.#extension(name);
    return extension === undefined ? { jump: name } : { extension };
  }

  #extension(name: string): XtExtension | undefined {
    switch (name) {
      case 'MARK': {
        const [value = '', mask = ''] = this.#takeIf('--set-xmark') ? this.#take().split('/') : refuse(name);
        return xt.setMark(this.#number(value), this.#number(mask));
      }
      case 'REJECT': {
        const how = this.#takeIf('--reject-with') ? this.#take() : refuse(name);
        const own = this.#family === 'ip' ? 'icmp-port-unreachable' : 'icmp6-port-unreachable';
        return how === own ? xt.reject(own) : refuse(how);
      }
      case 'DNAT':
        return this.#takeIf('--to-destination') ? this.#dnat(this.#take()) : refuse(name);
      case 'REDIRECT':
        return xt.redirect(
          this.#family,
          this.#takeIf('--to-ports') ? this.#number(this.#take(), 65_535) : refuse(name),
        );
      case 'MASQUERADE':
        return xt.masquerade(this.#family, this.#takeIf('--random-fully'));
      default:
        return undefined;
    }
  }

  #dnat(place: string): XtExtension {
    const [, ip, port] =
      /^(?:\[([\da-f:]+)\]|([\d.]+)):(\d+)$/.exec(place)?.filter((part) => part !== undefined) ?? [];
    if (ip === undefined || port === undefined || ip.includes(':') !== (this.#family === 'ip6'))
      return refuse(place);
    return xt.dnat(ip, this.#number(port, 65_535));
  }
}

const device = (name: string, isNot: boolean): Device =>
  name.length > 15 || name === '+' ? refuse(name) : { name, isNot };

function ctStates(words: string): number {
  return words
    .split(',')
    .reduce((bits, word) => bits | (xt.CT_STATES[word as keyof typeof xt.CT_STATES] ?? refuse(word)), 0);
}
