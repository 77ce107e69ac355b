// Informers that a test fills by hand: the same interface, no server behind.
// Guarantees: a change is in the copy before the handlers hear of it, as with the real ones.
import { type KubeObject, keyOf, type Stored } from '../../src/api/object.js';
import type { ResourceType } from '../../src/api/resources.js';
import type {
  IndexFunction,
  Informer,
  InformerHandler,
  InformerOptions,
  Informers,
} from '../../src/client/informer.js';

class StaticInformer<T extends KubeObject> implements Informer<T> {
  readonly #keep: InformerOptions<T>['keep'];

  readonly #objects = new Map<string, Stored<T>>();
  readonly #indexes = new Map<string, IndexFunction<T>>();
  readonly #handlers = new Set<InformerHandler<T>>();

  constructor(
    readonly type: ResourceType<T>,
    keep: InformerOptions<T>['keep'] = (object) => object,
  ) {
    this.#keep = keep;
  }

  set(object: unknown): void {
    const stored = this.#keep?.(object as Stored<T>) as Stored<T>;
    const key = keyOf(stored.metadata);
    const previous = this.#objects.get(key);
    this.#objects.set(key, stored);
    for (const handler of this.#handlers)
      previous === undefined ? handler.added?.(stored) : handler.updated?.(stored, previous);
  }

  remove(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    for (const handler of this.#handlers) handler.deleted?.(object);
  }

  get = (key: string) => this.#objects.get(key);
  list = () => [...this.#objects.values()];
  index(name: string, values: IndexFunction<T>): void {
    this.#indexes.set(name, values);
  }
  byIndex(name: string, value: string): readonly Stored<T>[] {
    const values = this.#indexes.get(name);
    if (values === undefined) throw new Error(`no index named ${name}`);
    return this.list().filter((object) => values(object).includes(value));
  }
  on(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.list()) handler.added?.(object);
    return () => this.#handlers.delete(handler);
  }
  synced = async () => {};
  hasSynced = () => true;
}

export class StaticInformers implements Informers {
  readonly #informers = new Map<string, StaticInformer<KubeObject>>();

  /** One a resource: what the first who asks keeps is what all see. */
  of<T extends KubeObject, Kept extends KubeObject = T>(
    type: ResourceType<T>,
    { keep }: InformerOptions<T, Kept> = {},
  ): StaticInformer<Kept> {
    const key = `${type.group}/${type.resource}`;
    let informer = this.#informers.get(key) as StaticInformer<Kept> | undefined;
    if (informer === undefined) {
      const kept = type as unknown as ResourceType<Kept>;
      informer = new StaticInformer(kept, keep as InformerOptions<Kept>['keep']);
      this.#informers.set(key, informer as unknown as StaticInformer<KubeObject>);
    }
    return informer;
  }
  synced = async () => {};
  stop(): void {}
}
