// Budgets over pods that nobody manages, and over pods of controllers that cannot be asked how many they want.
import { expect, test } from 'vitest';
import { EVENTS, POD_DISRUPTION_BUDGETS, PODS, REPLICA_SETS } from '../../../../src/api/resources.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { until } from '../../../support/until.js';
import { withControllers } from '../support/running.js';

const selector = { matchLabels: { app: 'web' } };
const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const pod = (name: string, owner?: { apiVersion: string; kind: string; name: string; uid: string }) => ({
  metadata: {
    name,
    namespace: 'default',
    labels: { app: 'web' },
    ...(owner === undefined ? {} : { ownerReferences: [{ ...owner, controller: true }] }),
  },
  spec: { containers: [] },
  status: ready,
});
const budget = (name: string, spec: object) => ({
  metadata: { name, namespace: 'default' },
  spec: { selector, ...spec },
});
const statusOf = (api: FakeApi, name: string) => api.get(POD_DISRUPTION_BUDGETS, `default/${name}`)?.status;

test('a share counts what controllers wish for, and no pod that nobody manages', async () => {
  const api = new FakeApi();
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [] } };
  const set = await api.of(REPLICA_SETS).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas: 2, selector, template },
  });
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: set.metadata.uid };
  for (const one of [pod('a', owner), pod('b', owner), pod('alone')]) await api.of(PODS).create(one);
  await api.of(POD_DISRUPTION_BUDGETS).create(budget('share', { maxUnavailable: 1 }));
  await api.of(POD_DISRUPTION_BUDGETS).create(budget('number', { minAvailable: 1 }));
  await withControllers(api, ['disruption-controller'], async () => {
    await until(() => expect(statusOf(api, 'share')).toMatchObject({ expectedPods: 2, desiredHealthy: 1 }));
    await until(() => expect(statusOf(api, 'number')).toMatchObject({ expectedPods: 3, desiredHealthy: 1 }));
    await until(() => expect(api.all(EVENTS).map(({ reason }) => reason)).toContain('UnmanagedPods'));
  });
});

test('a controller of an unknown kind allows nothing, and is told', async () => {
  const api = new FakeApi();
  await api.of(PODS).create(pod('a', { apiVersion: 'example.com/v1', kind: 'Fleet', name: 'f', uid: 'u' }));
  await api.of(POD_DISRUPTION_BUDGETS).create(budget('share', { maxUnavailable: '50%' }));
  await withControllers(api, ['disruption-controller'], async () => {
    await until(() => expect(statusOf(api, 'share')?.conditions?.[0]?.reason).toBe('SyncFailed'));
    expect(statusOf(api, 'share')).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ message: 'found no controllers for pod "a"' }],
    });
  });
});
