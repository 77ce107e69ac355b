// ComponentStatus: what is known of the store and of who holds a lease, read-only.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMPONENT_STATUSES, LEASES } from '../../../src/api/resources.js';
import { MemoryStore } from '../../support/memoryStore.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';

let api: SecuredApiServer;
const store = new MemoryStore();
beforeAll(async () => {
  api = await startSecuredApiServer({ store });
}, 60_000);
afterAll(() => api?.close());

const seen = async () => {
  const { items } = await api.client.of(COMPONENT_STATUSES).list();
  return items.map(({ metadata, conditions }) => {
    const { status, message = '', error = '' } = conditions?.[0] ?? {};
    return `${metadata.name} ${status} ${message}${error}`;
  });
};
const lease = (name: string, renewTime: string) =>
  api.client.of(LEASES).create({
    metadata: { name, namespace: 'kube-system' },
    spec: { holderIdentity: 'me', leaseDurationSeconds: 3600, renewTime },
  });

test('speaks of the store, and of those that hold a lease', async () => {
  expect(await seen()).toEqual(['etcd-0 True ok']);
  await lease('kube-scheduler', new Date().toISOString().replace('Z', '000Z'));
  await lease('kube-controller-manager', '2020-01-01T00:00:00.000000Z');
  expect(await seen()).toEqual([
    'controller-manager False its lease was last renewed at 2020-01-01T00:00:00.000000Z',
    'scheduler True ok',
    'etcd-0 True ok',
  ]);
});

test('gives one by name, and lets none be written', async () => {
  const components = api.client.of(COMPONENT_STATUSES);
  expect(await components.get({ name: 'etcd-0' })).toMatchObject({
    kind: 'ComponentStatus',
    metadata: { name: 'etcd-0' },
    conditions: [{ type: 'Healthy', status: 'True' }],
  });
  await expect(components.get({ name: 'none' })).rejects.toMatchObject({ code: 404 });
  await expect(components.create({ metadata: { name: 'mine' } })).rejects.toMatchObject({ code: 405 });
  await expect(components.delete({ name: 'etcd-0' })).rejects.toMatchObject({ code: 405 });
});
