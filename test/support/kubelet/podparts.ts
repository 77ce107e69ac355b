// What the tests of volumes, environment, probes and the kubelet's server share: a pod, and a client over plain objects.
// Guarantees: the client answers a missing object as the apiserver does, and counts what it was asked.
import type { V1PodSpec, V1PodStatus } from '../../../src/api/gen/types.js';
import type { KubeObject, ObjectName } from '../../../src/api/object.js';
import { keyOf } from '../../../src/api/object.js';
import type { ResourceType } from '../../../src/api/resources.js';
import { notFound } from '../../../src/api/status.js';
import type { Client, ResourceClient } from '../../../src/client/client.js';
import type { Pod } from '../../../src/kubelet/ports.js';

export function podWith(
  spec: Partial<V1PodSpec>,
  { status = {}, ...metadata }: Partial<Pod['metadata']> & { readonly status?: V1PodStatus } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: '0b5e6c1e-0000-4000-8000-000000000001',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { containers: [{ name: 'main', image: 'busybox' }], ...spec },
    status,
  };
}

export class FakeClient implements Client {
  /** By `resource/namespace/name`. */
  readonly objects = new Map<string, KubeObject>();
  readonly asked: string[] = [];
  readonly posted: { readonly path: string; readonly body: unknown }[] = [];
  /** Answers POSTs to subresources and raw calls. */
  answer: (path: string, body: unknown) => unknown = (path) => {
    throw new Error(`nobody answers ${path}`);
  };

  of<T extends KubeObject>(type: ResourceType<T>): ResourceClient<T> {
    const get = async (name: ObjectName) => {
      const key = `${type.resource}/${keyOf(name)}`;
      this.asked.push(key);
      const object = this.objects.get(key);
      if (object === undefined) throw notFound(type, name.name);
      return object;
    };
    const post = async (name: ObjectName, subresource: string, body: unknown) =>
      this.raw('POST', `${type.resource}/${keyOf(name)}/${subresource}`, body);
    return { get, post } as unknown as ResourceClient<T>;
  }

  async raw<Answer>(_method: string, path: string, body?: unknown): Promise<Answer> {
    this.posted.push({ path, body });
    return (await this.answer(path, body)) as Answer;
  }

  close(): void {}
}
