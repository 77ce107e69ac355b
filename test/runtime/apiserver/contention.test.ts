// Many writers of one object at once: nobody is refused who named no version.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIG_MAPS, POD_DISRUPTION_BUDGETS, PODS } from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';
import { openClient } from '../../../src/client/typedClient.js';
import { openLmdbStore } from '../../../src/store/lmdb/store.js';
import { storeFolder } from '../../support/storeFolder.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';

const namespace = 'default';

describe('many writers of one object', () => {
  let first: TestApiServer;
  let second: TestApiServer;
  let client: Client;
  let other: Client;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    const made = await storeFolder();
    remove = made.remove;
    const store = await openLmdbStore({ path: made.folder });
    first = await startTestApiServer({ store });
    // Another server on the same store: its writers do not wait for those of the first.
    second = await startTestApiServer({ store });
    client = openClient(first.transport);
    other = openClient(second.transport);
    await client.raw('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  });
  afterAll(async () => {
    other?.close();
    await second?.server.close();
    await first?.close();
    await remove?.();
  });

  const many = <T>(count: number, each: (at: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => each(at)));
  const keysOf = async (name: string) => {
    const { data = {} } = await client.of(CONFIG_MAPS).get({ name, namespace });
    return Object.keys(data);
  };

  test('60 patches are all taken', async () => {
    await client.of(CONFIG_MAPS).create({ metadata: { name: 'patched', namespace } });
    const patch = (at: number) =>
      client.of(CONFIG_MAPS).patch({ name: 'patched', namespace }, 'merge', { data: { [`k${at}`]: 'v' } });
    await many(60, patch);
    expect(await keysOf('patched')).toHaveLength(60);
  });

  test('30 applies of fields of their own are all taken, the first of which makes the object', async () => {
    const apply = (at: number) =>
      client.of(CONFIG_MAPS).patch(
        { name: 'applied', namespace },
        'apply',
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'applied', namespace },
          data: { [`k${at}`]: 'v' },
        },
        { fieldManager: `m${at}` },
      );
    await many(30, apply);
    expect(await keysOf('applied')).toHaveLength(30);
  });

  test('patches by two servers on one store are all taken', async () => {
    await client.of(CONFIG_MAPS).create({ metadata: { name: 'shared', namespace } });
    const patch = (at: number) =>
      (at % 2 === 0 ? client : other)
        .of(CONFIG_MAPS)
        .patch({ name: 'shared', namespace }, 'merge', { data: { [`k${at}`]: 'v' } });
    await many(40, patch);
    expect(await keysOf('shared')).toHaveLength(40);
  });

  test('30 evictions under one budget with room for all are all taken', async () => {
    const labels = { app: 'evicted' };
    await many(30, async (at) => {
      const pod = await client.of(PODS).create({
        metadata: { name: `evicted-${at}`, namespace, labels },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      });
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      await client.of(PODS).update({ ...pod, status }, { subresource: 'status' });
    });
    const budget = await client.of(POD_DISRUPTION_BUDGETS).create({
      metadata: { name: 'evicted', namespace },
      spec: { maxUnavailable: 30, selector: { matchLabels: labels } },
    });
    const status = {
      disruptionsAllowed: 30,
      currentHealthy: 30,
      desiredHealthy: 0,
      expectedPods: 30,
      observedGeneration: budget.metadata.generation ?? 1,
    };
    await client.of(POD_DISRUPTION_BUDGETS).update({ ...budget, status }, { subresource: 'status' });
    await many(30, (at) => {
      const name = `evicted-${at}`;
      return client.of(PODS).post({ name, namespace }, 'eviction', { metadata: { name } });
    });
    const spent = await client.of(POD_DISRUPTION_BUDGETS).get({ name: 'evicted', namespace });
    expect(spent.status?.disruptionsAllowed).toBe(0);
    expect((await client.of(PODS).list({ namespace })).items).toEqual([]);
  });

  test('a version that was named is a conflict when another is there', async () => {
    const held = await client.of(CONFIG_MAPS).create({ metadata: { name: 'named', namespace } });
    const settled = await Promise.allSettled(
      Array.from({ length: 10 }, (_, at) =>
        client.of(CONFIG_MAPS).update({ ...held, data: { at: String(at) } }),
      ),
    );
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});
