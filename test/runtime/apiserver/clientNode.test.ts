// The stock JavaScript client's informer against the apiserver: its cache follows ten thousand changes.
import { CoreV1Api, type KubeConfig, makeInformer, type V1ConfigMap } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubeConfigOf } from '../../support/kubeConfig.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';

const CHANGES = 10_000;
const OBJECTS = 200;
const WRITERS = 32;
const PATH = '/api/v1/namespaces/default/configmaps';

describe('@kubernetes/client-node', () => {
  let api: TestApiServer;
  let config: KubeConfig;
  beforeAll(async () => {
    api = await startTestApiServer();
    config = kubeConfigOf(api);
  });
  afterAll(() => api?.close());

  async function write(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<void> {
    const response = await api.transport.request({
      method,
      path,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    for await (const _ of response.body);
    expect(response.status).toBeLessThan(300);
  }

  test('an informer sees every change in order and ends up with what is there', {
    timeout: 180_000,
  }, async () => {
    const core = config.makeApiClient(CoreV1Api);
    const informer = makeInformer<V1ConfigMap>(config, PATH, () =>
      core.listNamespacedConfigMap({ namespace: 'default' }),
    );
    const held = new Map<string, number>();
    const faults: string[] = [];
    let seen = 0;
    const record = (object: V1ConfigMap) => {
      const name = object.metadata?.name ?? '';
      const turn = Number(object.data?.['turn']);
      if (turn <= (held.get(name) ?? -1)) faults.push(`${name}: ${turn} after ${held.get(name)}`);
      held.set(name, turn);
      seen += 1;
    };
    informer.on('add', record);
    informer.on('update', record);
    informer.on('delete', (object) => {
      held.delete(object.metadata?.name ?? '');
      seen += 1;
    });
    informer.on('error', (error) => faults.push(String(error)));
    await informer.start();

    // Each object has one writer at a time, so its turns have an order; writers work side by side.
    const names = Array.from({ length: OBJECTS }, (_, index) => `o${index}`);
    const turns = CHANGES / OBJECTS;
    const life = async (name: string) => {
      for (let turn = 0; turn < turns; turn += 1) {
        const body = { metadata: { name }, data: { turn: String(turn) } };
        const isLast = turn === turns - 1 && Number(name.slice(1)) % 2 === 0;
        if (turn === 0) await write('POST', PATH, body);
        else if (isLast) await write('DELETE', `${PATH}/${name}`);
        else await write('PUT', `${PATH}/${name}`, body);
      }
    };
    const queue = [...names];
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        for (let name = queue.pop(); name !== undefined; name = queue.pop()) await life(name);
      }),
    );
    await expect.poll(() => seen).toBe(CHANGES);
    await informer.stop();
    expect(faults).toEqual([]);
    expect(held.size).toBe(OBJECTS / 2);
    expect(new Set(held.values())).toEqual(new Set([turns - 1]));
  });
});
