// One set of the fake, with what the kernel does on adding, deleting and testing entries.
// Guarantees: pure but for its own members; time is an argument. Refusals are thrown as Refusal.
import { bitsOf, networkOf } from '../ip.js';
import { hasNets, PARTS, readEntry, type Shape, textOf, type Value } from './entry.js';
import type { IpSet, IpSetMember, IpSetOptions } from './port.js';

/** What the kernel would answer: its code, and the text the core adds. */
export class Refusal extends Error {
  readonly code: string;
  readonly text: string;

  constructor(code: string, text = '') {
    super(code);
    this.code = code;
    this.text = text;
  }
}

interface Member {
  readonly values: readonly Value[];
  readonly entry: IpSetMember;
  /** Milliseconds; undefined lives for ever. */
  readonly expires: number | undefined;
}

const refuse = (code: string, text?: string): never => {
  throw new Refusal(code, text);
};

export class FakeSet {
  readonly options: IpSetOptions;
  members = new Map<string, Member>();

  constructor(options: IpSetOptions) {
    this.options = options;
  }

  get shape(): Shape {
    return { type: this.options.type, family: this.options.family ?? 'inet' };
  }

  add(entry: IpSetMember, { existsOk, nowMs }: { existsOk: boolean; nowMs: number }): void {
    this.#checkExtras(entry);
    for (const values of this.#valuesOf(entry.entry)) {
      const text = textOf(values);
      const exists = this.members.has(text);
      if (exists && !existsOk) refuse('EEXIST', 'the entry is in the set already');
      if (!exists) this.#checkRoom();
      const seconds = entry.timeout ?? this.options.timeout ?? 0;
      const expires = seconds === 0 ? undefined : nowMs + seconds * 1000;
      this.members.set(text, { values, entry: { ...entry, entry: text }, expires });
      if (!exists && this.options.type === 'list:set') this.#place(text, entry);
    }
  }

  delete(text: string, { missingOk }: { missingOk: boolean }): void {
    for (const values of this.#valuesOf(text))
      if (!this.members.delete(textOf(values)) && !missingOk) refuse('ENOENT', 'the entry is not in the set');
  }

  /** As the kernel tests: for net types the narrowest network that holds the entry decides. */
  has(text: string): boolean {
    const [values = []] = this.#valuesOf(text);
    const exact = this.members.get(textOf(values));
    if (exact !== undefined || !hasNets(this.options.type))
      return exact !== undefined && exact.entry.nomatch !== true;
    let best: { member: Member; width: number } | undefined;
    for (const member of this.members.values()) {
      if (!covers(member.values, values)) continue;
      const width = member.values.reduce(
        (sum, value) => sum + (typeof value === 'string' ? 0 : value.prefix),
        0,
      );
      if (best === undefined || width > best.width) best = { member, width };
    }
    return best !== undefined && best.member.entry.nomatch !== true;
  }

  expire(nowMs: number): void {
    for (const [text, { expires }] of this.members)
      if (expires !== undefined && expires <= nowMs) this.members.delete(text);
  }

  list(nowMs: number): IpSet['entries'] {
    return [...this.members.values()].map(({ entry, expires }) => ({
      entry: entry.entry,
      ...(this.options.timeout === undefined
        ? {}
        : { timeout: expires === undefined ? 0 : Math.ceil((expires - nowMs) / 1000) }),
      ...(this.options.counters === true ? { packets: entry.packets ?? 0, bytes: entry.bytes ?? 0 } : {}),
      ...(entry.comment === undefined || entry.comment === '' ? {} : { comment: entry.comment }),
      ...(entry.nomatch === true ? { nomatch: true } : {}),
    }));
  }

  #valuesOf(text: string): Value[][] {
    const parts = PARTS[this.options.type];
    return readEntry(text, this.shape).map((values) =>
      values.map((value, i) => {
        if (typeof value === 'string') return this.#checkWord(value);
        const bits = bitsOf(value.ip.family);
        const netmask = this.options.netmask ?? bits;
        if (parts[i] === 'address') return { ip: networkOf(value.ip, netmask), prefix: bits };
        if (value.prefix === 0 && this.options.type !== 'hash:net,iface') refuse('IPSET_ERR_INVALID_CIDR');
        return value;
      }),
    );
  }

  #checkWord(word: string): string {
    if (this.options.type !== 'bitmap:port') return word;
    const [first = 0, last = 65535] = (this.options.range ?? '').split('-').map(Number);
    if (Number(word) < first || Number(word) > last) refuse('IPSET_ERR_BITMAP_RANGE');
    return word;
  }

  #checkExtras(entry: IpSetMember): void {
    if (entry.timeout !== undefined && this.options.timeout === undefined) refuse('IPSET_ERR_TIMEOUT');
    if ((entry.packets ?? entry.bytes) !== undefined && this.options.counters !== true)
      refuse('IPSET_ERR_COUNTER');
    if (entry.comment !== undefined && this.options.comment !== true) refuse('IPSET_ERR_COMMENT');
  }

  #checkRoom(): void {
    if (!this.options.type.startsWith('hash:') || this.members.size < (this.options.maxelem ?? 65536)) return;
    if (this.options.forceadd !== true) refuse('IPSET_ERR_HASH_FULL');
    const [oldest] = this.members.keys();
    if (oldest !== undefined) this.members.delete(oldest);
  }

  // The member was put last; it goes before or after another.
  #place(text: string, { before, after }: IpSetMember): void {
    const reference = before ?? after;
    if (reference === undefined) return;
    const order = [...this.members].filter(([name]) => name !== text);
    const at = order.findIndex(([name]) => name === reference);
    const own = this.members.get(text);
    if (at < 0 || own === undefined) {
      this.members.delete(text);
      refuse('IPSET_ERR_REF_EXIST');
      return;
    }
    order.splice(before === undefined ? at + 1 : at, 0, [text, own]);
    this.members = new Map(order);
  }
}

function covers(wide: readonly Value[], narrow: readonly Value[]): boolean {
  return wide.every((value, i) => {
    const other = narrow[i];
    if (typeof value === 'string' || typeof other === 'string' || other === undefined) return value === other;
    // Only a host is looked up in the networks around it.
    if (other.prefix !== bitsOf(other.ip.family))
      return value.prefix === other.prefix && value.ip.value === other.ip.value;
    return networkOf(other.ip, value.prefix).value === value.ip.value;
  });
}
