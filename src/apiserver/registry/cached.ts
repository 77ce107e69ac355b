// One version of an object as the cache holds it: the bytes to send, and what selectors ask, read once when first asked.
// Guarantees: never changes after it was made, so any number of readers and watchers may hold it.
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { parseObject, withRevision } from './encode.js';

/** What selectors look at, without the rest of the object. */
export interface Summary extends KubeObject {
  readonly labels: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, string>>;
}

export class CachedObject {
  readonly bytes: Buffer;
  #summary: Summary | undefined;

  constructor(
    private readonly kind: KindDefinition,
    readonly key: string,
    stored: Uint8Array,
    /** Of the change that made this version; for a deletion, of the deletion. */
    readonly revision: number,
  ) {
    this.bytes = withRevision(stored, revision);
  }

  /** A fresh copy, free to be changed. */
  parse<T = KubeObject>(): T {
    return parseObject<T>(this.bytes);
  }

  get summary(): Summary {
    this.#summary ??= this.#summarise();
    return this.#summary;
  }

  #summarise(): Summary {
    const object = this.parse();
    const { name, namespace, labels } = object.metadata ?? {};
    return {
      metadata: { name, namespace },
      labels: labels ?? {},
      fields: this.kind.fields?.(object) ?? {},
    };
  }
}
