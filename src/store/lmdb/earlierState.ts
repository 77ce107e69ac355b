// An older state of the keys of a prefix: which of them changed since, and what they held then.
// Guarantees: the log is read once for all pages of a list, however many they are, with pauses; those not used for a while,
// and the oldest when they are too many, are forgotten.
import type { LoggedChange, Range, Snapshot } from './snapshot.js';

/** A pause is offered after so many records. */
const PIECE = 512;
/** Of all states together that are kept. */
const MOST_CHANGES = 200_000;

export interface ChangedKey {
  readonly bytes: Buffer;
  /** The change that replaced what it held then. */
  readonly first: LoggedChange;
  /** As of the snapshot that was read last. */
  isThere: boolean;
}

export class EarlierState {
  readonly #changed = new Map<string, ChangedKey>();
  #sorted: readonly ChangedKey[] | undefined;
  #readTo: number;

  constructor(
    readonly prefix: string,
    readonly revision: number,
  ) {
    this.#readTo = revision;
  }

  get size(): number {
    return this.#changed.size;
  }

  has(key: string): boolean {
    return this.#changed.has(key);
  }

  /** Those of the range that changed, in the order of keys. */
  within({ start, end }: Range): readonly ChangedKey[] {
    this.#sorted ??= [...this.#changed.values()].sort((one, other) => Buffer.compare(one.bytes, other.bytes));
    const from = start === undefined ? 0 : firstFrom(this.#sorted, start);
    return this.#sorted.slice(from, end === undefined ? undefined : firstFrom(this.#sorted, end));
  }

  /** Reads what the log has got since; snapshots come in the order of their moments. Yields where a pause is good. */
  *readOn(snapshot: Snapshot): Generator<void> {
    let seen = 0;
    for (const change of snapshot.changes(this.#readTo)) {
      this.#readTo = change.revision;
      if (change.key.startsWith(this.prefix)) this.#note(change);
      if (++seen % PIECE === 0) yield;
    }
  }

  #note(change: LoggedChange): void {
    const isThere = change.type === 'put';
    const known = this.#changed.get(change.key);
    if (known !== undefined) {
      known.isThere = isThere;
      return;
    }
    this.#changed.set(change.key, { bytes: Buffer.from(change.key, 'utf8'), first: change, isThere });
    this.#sorted = undefined;
  }
}

/** The position of the first key that is not before this one. */
function firstFrom(sorted: readonly ChangedKey[], key: Buffer): number {
  let low = 0;
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare((sorted[middle] as ChangedKey).bytes, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class EarlierStates {
  /** The one used last comes last. */
  readonly #held = new Map<string, { readonly past: EarlierState; isIdle: boolean }>();

  of(prefix: string, revision: number): EarlierState {
    const id = `${revision} ${prefix}`;
    const past = this.#held.get(id)?.past ?? new EarlierState(prefix, revision);
    this.#held.delete(id);
    this.#held.set(id, { past, isIdle: false });
    return past;
  }

  /** Called from time to time: what was not used since the call before goes. */
  forgetIdle(): void {
    for (const [id, held] of this.#held) {
      if (held.isIdle) this.#held.delete(id);
      held.isIdle = true;
    }
  }

  /** Called when one may have grown: the longest unused go while all together are too many. */
  forgetExcess(): void {
    let changes = 0;
    for (const [id, { past }] of [...this.#held].reverse()) {
      changes += past.size;
      if (changes > MOST_CHANGES) this.#held.delete(id);
    }
  }
}
