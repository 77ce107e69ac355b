// A client over a plain map: enough of the server's behaviour for those who only get, create, update and delete.
// Guarantees: missing and doubled names are refused as by the server; every write is kept in `writes`.
import { type KubeObject, keyOf, type ObjectName, type Stored } from '../../src/api/object.js';
import type { ResourceType } from '../../src/api/resources.js';
import { alreadyExists, notFound } from '../../src/api/status.js';
import type { Client, ResourceClient } from '../../src/client/client.js';

export class MemoryClient implements Client {
  readonly writes: {
    readonly verb: string;
    readonly resource: string;
    readonly name: string;
    readonly body?: unknown;
  }[] = [];
  readonly #objects = new Map<string, Stored<KubeObject>>();
  /** Set to refuse a write: throws for the verbs, or verb/subresource, a test wants to fail. */
  refuse: (verb: string, name: ObjectName) => void = () => {};

  of<T extends KubeObject>(type: ResourceType<T>): ResourceClient<T> {
    const path = (name: ObjectName) => `${type.group}/${type.resource}/${keyOf(name)}`;
    const named = (object: T): ObjectName => ({
      name: object.metadata?.name ?? '',
      namespace: object.metadata?.namespace,
    });
    const note = (verb: string, name: ObjectName, body?: unknown) => {
      this.refuse(verb, name);
      this.writes.push({ verb, resource: type.resource, name: keyOf(name), body });
    };
    const found = (name: ObjectName) => {
      const object = this.#objects.get(path(name));
      if (object === undefined) throw notFound(type, name.name);
      return object as unknown as Stored<T>;
    };
    const keep = (object: T) => {
      this.#objects.set(path(named(object)), object as unknown as Stored<KubeObject>);
      return found(named(object));
    };
    return {
      get: async (name) => found(name),
      list: async () => ({
        items: [...this.#objects]
          .filter(([key]) => key.startsWith(`${type.group}/${type.resource}/`))
          .map(([, object]) => object as unknown as Stored<T>),
        resourceVersion: '1',
      }),
      watch: () => {
        throw new Error('this client does not watch');
      },
      create: async (object) => {
        note('create', named(object), object);
        if (this.#objects.has(path(named(object)))) throw alreadyExists(type, named(object).name);
        return keep(object);
      },
      update: async (object) => {
        note('update', named(object), object);
        found(named(object));
        return keep(object);
      },
      patch: async (name, _type, patch, options) => {
        note(`patch${options?.subresource === undefined ? '' : `/${options.subresource}`}`, name, patch);
        return found(name);
      },
      delete: async (name) => {
        note('delete', name);
        this.#objects.delete(path(name));
      },
      post: async <Answer>(name: ObjectName, subresource: string, body: unknown) => {
        note(`post/${subresource}`, name, body);
        return body as Answer;
      },
    };
  }

  put<T extends KubeObject>(type: ResourceType<T>, object: unknown): void {
    const { metadata } = object as Stored<T>;
    this.#objects.set(`${type.group}/${type.resource}/${keyOf(metadata)}`, object as Stored<KubeObject>);
  }

  async raw<Answer>(): Promise<Answer> {
    throw new Error('this client knows no other paths');
  }
  close(): void {}
}
