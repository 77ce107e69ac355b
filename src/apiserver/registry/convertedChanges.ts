// The changes of a resource as a watcher of another version sees them: converted some at a time, as they are needed.
// Guarantees: in order, each once; nothing is kept but the few that come next.
import type { CachedObject } from './cached.js';
import type { Caller, Conversion } from './conversion.js';
import type { Change, Window } from './history.js';

/** Where a watcher reads what happened. */
export interface Changes {
  /** Undefined when there is no such change yet, or no longer, or when `load` has to bring it. */
  at(number: number): Change | undefined;
  /** True when the change is there, but has to be loaded first. */
  isUnloaded(number: number): boolean;
  load(number: number): Promise<void>;
}

export function plainChanges(window: Window): Changes {
  return { at: (number) => window.at(number), isUnloaded: () => false, load: async () => {} };
}

const MOST = 100;
const MOST_BYTES = 1024 * 1024;

interface ConvertedWatch {
  readonly window: Window;
  readonly conversion: Conversion;
  readonly caller: Caller;
  /** Of the keys that are watched: others are not converted. */
  readonly prefix: string;
  /** True when a selector has to see what an object was before. */
  readonly needsPrevious: boolean;
}

export class ConvertedChanges implements Changes {
  readonly #watch: ConvertedWatch;

  readonly #ready = new Map<number, Change>();

  constructor(watch: ConvertedWatch) {
    this.#watch = watch;
  }

  at(number: number): Change | undefined {
    return this.#ready.get(number);
  }

  isUnloaded(number: number): boolean {
    return !this.#ready.has(number) && this.#watch.window.at(number) !== undefined;
  }

  async load(first: number): Promise<void> {
    this.#ready.clear();
    const { window, prefix, needsPrevious, conversion, caller } = this.#watch;
    const taken: Change[] = [];
    const objects: CachedObject[] = [];
    let bytes = 0;
    for (let number = first; taken.length < MOST && bytes < MOST_BYTES; number += 1) {
      const change = window.at(number);
      if (change === undefined) break;
      taken.push(change);
      if (!change.key.startsWith(prefix)) continue;
      objects.push(change.object);
      bytes += change.object.size;
      if (needsPrevious && change.previous !== undefined) objects.push(change.previous);
    }
    const shown = await conversion.shown(objects, caller);
    const byObject = new Map(objects.map((object, index) => [object, shown[index]]));
    for (const [index, change] of taken.entries()) {
      const { object, previous } = change;
      this.#ready.set(first + index, {
        ...change,
        object: byObject.get(object) ?? object,
        previous: previous && (byObject.get(previous) ?? previous),
      });
    }
  }
}
