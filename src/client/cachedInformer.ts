// One cache of objects and those who are told of its changes; a reflector fills it.
// Guarantees: handlers are called in order, each change once; one that throws is logged and stops nobody else.
import type { Log } from '../api/log.js';
import type { KubeObject, Stored } from '../api/object.js';
import { apiVersionOf, type ResourceType } from '../api/resources.js';
import { messageOf } from '../base/errorMessage.js';
import { type Change, ObjectCache } from './cache.js';
import type { IndexFunction, Informer, InformerHandler } from './informer.js';
import type { SharedObjects } from './sharedObjects.js';

interface CachedInformerOptions {
  readonly log: Log;
  /** Whole objects that others of this process may hold too. */
  readonly shared: SharedObjects | undefined;
}

export class CachedInformer<T extends KubeObject> implements Informer<T> {
  readonly type: ResourceType<T>;
  readonly #log: Log;
  readonly #cache: ObjectCache<T>;
  readonly #handlers = new Set<InformerHandler<T>>();
  readonly #synced: Promise<void>;
  #hasSynced = false;
  #sync = () => {};

  constructor(type: ResourceType<T>, { log, shared }: CachedInformerOptions) {
    this.type = type;
    this.#log = log;
    const kind = `${apiVersionOf(type)} ${type.kind}`;
    this.#cache = new ObjectCache<T>(shared === undefined ? undefined : { objects: shared, kind });
    this.#synced = new Promise<void>((resolve) => {
      this.#sync = resolve;
    });
  }

  get(key: string) {
    return this.#cache.get(key);
  }

  list() {
    return this.#cache.list();
  }

  index(name: string, values: IndexFunction<T>): void {
    this.#cache.index(name, this.#tolerant(values));
  }

  byIndex(name: string, value: string) {
    return this.#cache.byIndex(name, value);
  }

  on(wanted: InformerHandler<T>): () => void {
    // A copy, so that the same handler registered twice is two registrations.
    const handler: InformerHandler<T> = {
      added: (object) => wanted.added?.(object),
      updated: (object, previous) => wanted.updated?.(object, previous),
      deleted: (object) => wanted.deleted?.(object),
    };
    this.#handlers.add(handler);
    for (const object of this.#cache.list()) this.#tell(handler, { type: 'added', object });
    return () => void this.#handlers.delete(handler);
  }

  synced(): Promise<void> {
    return this.#synced;
  }

  hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** The copy that is held of an object. */
  own(object: Stored<T>): Stored<T> {
    return this.#cache.own(object);
  }

  /** All there is, by a list. */
  replace(items: Parameters<ObjectCache<T>['replace']>[0]): void {
    this.#deliver(this.#cache.replace(items));
    this.#hasSynced = true;
    this.#sync();
  }

  apply(event: Parameters<ObjectCache<T>['apply']>[0]): void {
    this.#deliver(this.#cache.apply(event));
  }

  #deliver(changes: readonly Change<T>[]): void {
    // Whoever joins during a delivery is told of everything that is there, so it must not be told again here.
    const present = [...this.#handlers];
    for (const change of changes) {
      for (const handler of present) if (this.#handlers.has(handler)) this.#tell(handler, change);
    }
  }

  #tell(handler: InformerHandler<T>, change: Change<T>): void {
    try {
      if (change.type === 'updated') handler.updated?.(change.object, change.previous);
      else handler[change.type]?.(change.object);
    } catch (error) {
      const { resource } = this.type;
      const fields = { resource, change: change.type, error: messageOf(error) };
      this.#log.error('an informer handler failed', fields);
    }
  }

  /** An index that cannot make sense of one object must not keep all others from arriving. */
  #tolerant(values: IndexFunction<T>): IndexFunction<T> {
    return (object) => {
      try {
        return values(object);
      } catch (error) {
        const { resource } = this.type;
        this.#log.error('an index function failed', { resource, error: messageOf(error) });
        return [];
      }
    };
  }
}
