// A client over a map: optimistic concurrency, merge patches one level deep, and faults on demand. No watches.
import type { KubeObject, ObjectName, Stored } from '../../src/api/object.js';
import { keyOf } from '../../src/api/object.js';
import type { ResourceType } from '../../src/api/resources.js';
import { alreadyExists, conflict, notFound } from '../../src/api/status.js';
import type { Client, ResourceClient } from '../../src/client/client.js';

type Any = Stored<KubeObject>;

export class FakeClient implements Client {
  readonly objects = new Map<string, Any>();
  /** Asked before every call; what it throws or waits for happens to the caller. */
  fault: (verb: string) => void | Promise<void> = () => {};
  #version = 0;

  of<T extends KubeObject>(type: ResourceType<T>): ResourceClient<T> {
    const at = (name: ObjectName) => `${type.resource}/${keyOf(name)}`;
    const nameOf = ({ metadata }: KubeObject) => ({
      name: metadata?.name ?? '',
      namespace: metadata?.namespace,
    });
    const find = (name: ObjectName): Any => {
      const object = this.objects.get(at(name));
      if (object === undefined) throw notFound(type, name.name);
      return object;
    };
    const put = (object: KubeObject): Any => {
      const resourceVersion = String(++this.#version);
      const stored = { ...object, metadata: { ...object.metadata, uid: 'u', resourceVersion } } as Any;
      this.objects.set(at(nameOf(object)), stored);
      return stored;
    };
    const client: ResourceClient<KubeObject> = {
      get: async (name) => {
        await this.fault('get');
        return find(name);
      },
      list: async () => ({ items: [...this.objects.values()], resourceVersion: String(this.#version) }),
      watch: () => {
        throw new Error('the fake client has no watches');
      },
      create: async (object) => {
        await this.fault('create');
        if (this.objects.has(at(nameOf(object)))) throw alreadyExists(type, nameOf(object).name);
        return put(object);
      },
      update: async (object) => {
        await this.fault('update');
        const current = find(nameOf(object));
        if (current.metadata.resourceVersion !== object.metadata?.resourceVersion) {
          throw conflict(type, nameOf(object).name, 'the object has been modified');
        }
        return put(object);
      },
      patch: async (name, _type, patch) => {
        await this.fault('patch');
        return put({ ...find(name), ...(patch as object) });
      },
      delete: async (name) => void this.objects.delete(at(name)),
      post: async () => {
        throw new Error('the fake client has no subresources');
      },
    };
    return client as unknown as ResourceClient<T>;
  }

  async raw<Answer>(): Promise<Answer> {
    throw new Error('the fake client has no raw paths');
  }

  close(): void {}
}
