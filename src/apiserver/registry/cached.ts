// One version of an object as the cache holds it: the bytes to send, and what selectors ask, read once when first asked.
// Guarantees: never changes after it was made, so any number of readers and watchers may hold it; its buffer is its own.
// Of kinds that are seldom read the bytes may be in the store alone, for as long as they are the newest there.
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { deepFreeze } from '../../client/freeze.js';
import { encodeForStore, parseObject, storedVersionOf, withRevision } from './encode.js';
import { ParsedObjects } from './parsedObjects.js';
import { withoutManagers } from './withoutManagers.js';

/** What selectors look at, without the rest of the object. */
export interface Summary extends KubeObject {
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
}

const OBJECT_BYTES = 256;
/** Of a label or a field, beside its text. */
const PAIR_BYTES = 100;
/**
 * As data, a megabyte of short labels is ten, and thousands of events have a dozen fields each: no such summary is kept
 * beside its object, only the one looked at last, for the watchers that look at it in turn.
 */
const LARGE_SUMMARY = 16 * 1024;
const parsed = new ParsedObjects();
let lastSeen: { readonly object: CachedObject; readonly summary: Summary } | undefined;

function sizeOf({ labels, fields }: Summary): number {
  let bytes = 0;
  for (const name in labels) bytes += PAIR_BYTES + name.length + (labels[name]?.length ?? 0);
  for (const name in fields) bytes += PAIR_BYTES + name.length + (fields[name]?.length ?? 0);
  return bytes;
}

/** Reads what the store was given at that revision. */
export type ReadValue = (key: string, revision: number) => Uint8Array;

export class CachedObject {
  readonly #kind: KindDefinition;

  #bytes: Buffer | undefined;
  #read: ReadValue | undefined;
  /** Of the bytes, wherever they are. */
  #size: number;
  #isCurrent: boolean;
  /** True once it was brought into another form than it has in the store. */
  #isChanged = false;
  #summary: Summary | undefined;
  /** Of its protobuf in a list, once that was made: the length of a list goes before its items. */
  protobufBytes: number | undefined;

  constructor(
    kind: KindDefinition,
    readonly key: string,
    stored: Uint8Array,
    /** Of the change that made this version; for a deletion, of the deletion. */
    readonly revision: number,
    read?: ReadValue,
    shared?: Buffer,
  ) {
    this.#kind = kind;

    const bytes = shared ?? withRevision(stored, revision);
    this.#bytes = bytes;
    this.#read = read;
    this.#size = bytes.length;
    this.#isCurrent = kind.custom?.isCurrent(revision, () => storedVersionOf(bytes)) ?? true;
  }

  /** The same version of the object, of a kind whose definition has changed. */
  as(kind: KindDefinition): CachedObject {
    const bytes = this.#bytes ?? this.bytes;
    const same = new CachedObject(kind, this.key, bytes, this.revision, this.#read, bytes);
    same.#isChanged = this.#isChanged;
    return same;
  }

  /** False when it lies in the store in another version, or with other fields, than its kind has now. */
  get isAsStored(): boolean {
    if (!this.#isCurrent) this.#bringUp();
    return !this.#isChanged;
  }

  /** In the form that its kind has now: an older one is brought into it when it is first asked for. */
  get bytes(): Buffer {
    if (!this.#isCurrent) this.#bringUp();
    return this.#bytes ?? withRevision((this.#read as ReadValue)(this.key, this.revision), this.revision);
  }

  get size(): number {
    if (!this.#isCurrent) this.#bringUp();
    return this.#size;
  }

  /** Leaves the bytes to the store, when they can be read there. */
  forgetBytes(): void {
    if (this.#read !== undefined) this.#bytes = undefined;
  }

  /** Called with what the store was given, when it holds another value from now on: some may still want this one. */
  keepBytes(stored: Uint8Array): void {
    this.#bytes ??= withRevision(stored, this.revision);
    this.#read = undefined;
  }

  /** A fresh copy, free to be changed. */
  parse<T = KubeObject>(): T {
    return parseObject<T>(this.bytes);
  }

  /** Without managedFields. */
  parseWithoutManagers(): KubeObject {
    return JSON.parse(withoutManagers(this.bytes.toString('utf8'))) as KubeObject;
  }

  /** Without managedFields, frozen, and the same for all who ask in a short while. */
  shared(): Stored<KubeObject> {
    return deepFreeze(parsed.of(this)) as Stored<KubeObject>;
  }

  get summary(): Summary {
    if (this.#summary !== undefined) return this.#summary;
    if (lastSeen?.object === this) return lastSeen.summary;
    const summary = this.#summarise();
    const isKept = this.#kind.isSeldomRead !== true && sizeOf(summary) <= LARGE_SUMMARY;
    if (isKept) this.#summary = summary;
    else lastSeen = { object: this, summary };
    return summary;
  }

  /** What this version keeps in memory. */
  get heldBytes(): number {
    return this.#size + OBJECT_BYTES + (this.#summary === undefined ? 0 : sizeOf(this.#summary));
  }

  #bringUp(): void {
    this.#isCurrent = true;
    const fresh = this.#kind.custom?.current(this.parse());
    if (fresh === undefined) return;
    this.#isChanged = true;
    this.#bytes = withRevision(encodeForStore(this.#kind, fresh), this.revision);
    this.#size = this.#bytes.length;
  }

  #summarise(): Summary {
    const object = parsed.of(this);
    const { name, namespace, labels } = object.metadata ?? {};
    return {
      metadata: { name, namespace },
      labels: labels ?? {},
      fields: this.#kind.fields?.(object) ?? {},
    };
  }
}
