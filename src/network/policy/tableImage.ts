// One nf_tables table as it should be, and what of it the kernel has not been given yet. Pure.
// Guarantees: requests follow the changes, not the size of the table; whatever refers to a chain or a set goes before it
// and comes after it; what was changed and changed back asks for nothing; a table that would decide nothing is not written.
import type { Expression } from '../../kernel/nftables/expression.js';
import type { Chain, NftFamily, NftRequest, NftSet, SetElement } from '../../kernel/nftables/port.js';

export type SetShape = Omit<NftSet, 'family' | 'table'>;
type ChainShape = Omit<Chain, 'family' | 'table'>;
export interface RuleShape {
  readonly expressions: readonly Expression[];
  readonly comment?: string;
  /** For whoever reads the kernel's counters and traces; the kernel is not told. */
  readonly decision?: Decision;
}

/** What it means for a packet to meet a rule. */
export interface Decision {
  /** Whose rule it is; several when they refuse together what none of them allows. */
  readonly policies: readonly string[];
  /** Which rule of the policy, from 0. */
  readonly rule?: number;
  readonly outcome: 'allowed' | 'refused' | 'passed';
}

interface ImageChain {
  readonly shape: ChainShape;
  readonly rules: readonly RuleShape[];
  readonly text: string;
}

interface ImageSet {
  readonly shape: SetShape;
  readonly elements: Map<string, SetElement>;
}

/** What the kernel had before the first change since the last commit; undefined where it had nothing. */
interface Pending {
  readonly chains: Map<string, ImageChain | undefined>;
  readonly sets: Map<string, SetShape | undefined>;
  /** By set, then by key. */
  readonly elements: Map<string, Map<string, SetElement | undefined>>;
}

const noPending = (): Pending => ({ chains: new Map(), sets: new Map(), elements: new Map() });
const sameElement = (a: SetElement | undefined, b: SetElement | undefined) =>
  (a === undefined) === (b === undefined) && a?.verdict === b?.verdict && a?.data === b?.data;

export class TableImage {
  readonly family: NftFamily;
  readonly table: string;
  readonly comment: string;
  readonly #neededFor: readonly string[];
  readonly #chains = new Map<string, ImageChain>();
  readonly #sets = new Map<string, ImageSet>();
  /** None until the first commit: everything is to be written then. */
  #pending: Pending | undefined;
  /** Whether the kernel was told to have no such table. */
  #isAbsent = false;
  #version = 0;

  /** `neededFor`: sets; while none of them has an element, the table decides nothing. */
  constructor(place: { family: NftFamily; table: string; comment: string; neededFor: readonly string[] }) {
    this.family = place.family;
    this.table = place.table;
    this.comment = place.comment;
    this.#neededFor = place.neededFor;
  }

  putChain(shape: ChainShape, rules: readonly RuleShape[]): void {
    const chain = { shape, rules, text: JSON.stringify(rules.map(told)) };
    const before = this.#chains.get(shape.name);
    if (before?.text === chain.text) return;
    this.#version += 1;
    remember(this.#pending?.chains, shape.name, before);
    this.#chains.set(shape.name, chain);
  }

  removeChain(name: string): void {
    const before = this.#chains.get(name);
    if (before === undefined) return;
    this.#version += 1;
    remember(this.#pending?.chains, name, before);
    this.#chains.delete(name);
  }

  /** Empty at first. A set that is there stays as it is. */
  putSet(shape: SetShape): void {
    if (this.#sets.has(shape.name)) return;
    this.#version += 1;
    remember(this.#pending?.sets, shape.name, undefined);
    this.#sets.set(shape.name, { shape, elements: new Map() });
  }

  /** With its elements. */
  removeSet(name: string): void {
    const before = this.#sets.get(name);
    if (before === undefined) return;
    for (const key of [...before.elements.keys()]) this.removeElement(name, key);
    this.#version += 1;
    remember(this.#pending?.sets, name, before.shape);
    this.#sets.delete(name);
  }

  putElement(set: string, element: SetElement): void {
    const elements = this.#elementsOf(set);
    const before = elements.get(element.key);
    if (before !== undefined && sameElement(before, element)) return;
    this.#version += 1;
    remember(this.#pendingOf(set), element.key, before);
    elements.set(element.key, element);
  }

  removeElement(set: string, key: string): void {
    const elements = this.#elementsOf(set);
    const before = elements.get(key);
    if (before === undefined) return;
    this.#version += 1;
    remember(this.#pendingOf(set), key, before);
    elements.delete(key);
  }

  has(set: string, key: string): boolean {
    return this.#sets.get(set)?.elements.has(key) === true;
  }

  /** Another one after every change. */
  get version(): number {
    return this.#version;
  }

  keysOf(set: string): string[] {
    return [...(this.#sets.get(set)?.elements.keys() ?? [])];
  }

  chainNames(): string[] {
    return [...this.#chains.keys()];
  }

  rulesOf(chain: string): readonly RuleShape[] {
    return this.#chains.get(chain)?.rules ?? [];
  }

  /** Every set with its keys. */
  *contents(): Iterable<{ readonly set: string; readonly elements: ReadonlyMap<string, SetElement> }> {
    for (const [set, { elements }] of this.#sets) yield { set, elements };
  }

  /** Whether the kernel is to have the table at all. */
  get isNeeded(): boolean {
    return this.#neededFor.some((set) => this.#elementsOf(set).size > 0);
  }

  /** From nothing, whatever the kernel has under this name. */
  whole(): NftRequest[] {
    const { family, table: name, comment } = this;
    const removal: NftRequest[] = [
      { do: 'add', kind: 'table', family, name },
      { do: 'delete', kind: 'table', family, name },
    ];
    if (!this.isNeeded) return removal;
    const none = { chains: new Map<string, undefined>(), sets: new Map<string, undefined>() };
    for (const chain of this.#chains.keys()) none.chains.set(chain, undefined);
    for (const set of this.#sets.keys()) none.sets.set(set, undefined);
    return [
      ...removal,
      { do: 'add', kind: 'table', family, name, comment },
      ...this.#requests({ ...none, elements: new Map() }),
      ...[...this.#sets.values()]
        .filter((set) => set.elements.size > 0)
        .map(({ shape, elements }) => this.#ofElements('add', shape, [...elements.values()])),
    ];
  }

  /** From what was last committed; all of it when nothing was. */
  changes(): NftRequest[] {
    if (!this.isNeeded) return this.#isAbsent ? [] : this.whole();
    return this.#pending === undefined ? this.whole() : this.#requests(this.#pending);
  }

  /** What `whole` or `changes` said is in the kernel. */
  committed(): void {
    this.#isAbsent = !this.isNeeded;
    this.#pending = this.#isAbsent ? undefined : noPending();
  }

  #elementsOf(set: string): Map<string, SetElement> {
    const found = this.#sets.get(set);
    if (found === undefined) throw new Error(`table ${this.table} has no set ${set}`);
    return found.elements;
  }

  #pendingOf(set: string): Map<string, SetElement | undefined> | undefined {
    const known = this.#pending?.elements.get(set);
    if (known !== undefined || this.#pending === undefined) return known;
    const made = new Map<string, SetElement | undefined>();
    this.#pending.elements.set(set, made);
    return made;
  }

  #requests({ chains, sets, elements }: Pending): NftRequest[] {
    const place = { family: this.family, table: this.table };
    const before: NftRequest[] = [];
    const removed: NftRequest[] = [];
    const made: NftRequest[] = [];
    const rules: NftRequest[] = [];
    for (const [name, old] of chains) {
      const now = this.#chains.get(name);
      if (old?.text === now?.text) continue;
      if (old !== undefined) before.push({ do: 'flush', kind: 'chain', ...place, name });
      if (now === undefined) removed.push({ do: 'delete', kind: 'chain', ...place, name });
      else if (old === undefined) made.push({ do: 'add', kind: 'chain', ...place, ...now.shape });
      for (const rule of now?.rules ?? [])
        rules.push({ do: 'add', kind: 'rule', ...place, chain: name, ...told(rule) });
    }
    for (const [name, old] of sets) {
      const now = this.#sets.get(name);
      if ((old === undefined) === (now === undefined)) continue;
      if (now === undefined) removed.push({ do: 'delete', kind: 'set', ...place, name });
      else made.unshift({ do: 'add', kind: 'set', ...place, ...now.shape });
    }
    const { gone, come } = this.#elementRequests(elements);
    return [...gone, ...before, ...removed, ...made, ...rules, ...come];
  }

  #elementRequests(changed: Pending['elements']) {
    const gone: NftRequest[] = [];
    const come: NftRequest[] = [];
    for (const [set, keys] of changed) {
      const content = this.#sets.get(set);
      // A set takes its elements with it.
      if (content === undefined) continue;
      const { shape } = content;
      const differing = [...keys].filter(([key, old]) => !sameElement(old, content.elements.get(key)));
      const old = differing.flatMap(([, element]) => element ?? []);
      const now = differing.flatMap(([key]) => content.elements.get(key) ?? []);
      if (old.length > 0) gone.push(this.#ofElements('delete', shape, old));
      if (now.length > 0) come.push(this.#ofElements('add', shape, now));
    }
    return { gone, come };
  }

  #ofElements(verb: 'add' | 'delete', shape: SetShape, elements: readonly SetElement[]): NftRequest {
    const { family, table } = this;
    return { do: verb, kind: 'element', family, table, set: shape.name, ...keyShape(shape), elements };
  }
}

/** What the kernel is told of a rule. */
const told = ({ expressions, comment }: RuleShape) => ({
  expressions,
  ...(comment === undefined ? {} : { comment }),
});

const keyShape = ({ type, mapType, flags }: SetShape) => ({
  type,
  ...(mapType === undefined ? {} : { mapType }),
  ...(flags === undefined ? {} : { flags }),
});

/** Only the first change since the commit knows what the kernel has. */
function remember<V>(
  pending: Map<string, V | undefined> | undefined,
  key: string,
  before: V | undefined,
): void {
  if (pending?.has(key) === false) pending.set(key, before);
}
