// The scheduler through the real apiserver, stopped and started while it works: no pod twice, none forgotten, no node over-full.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODES, PODS, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import { startScheduler } from '../../support/runningComponents.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const NODE_COUNT = 3;
const PODS_PER_NODE = 20;
const POD_COUNT = NODE_COUNT * PODS_PER_NODE;

let api: SecuredApiServer;
beforeAll(async () => {
  api = await startSecuredApiServer();
  await api.client.of(SERVICE_ACCOUNTS).create({ metadata: { name: 'default', namespace: 'default' } });
  for (let number = 0; number < NODE_COUNT; number += 1) {
    const name = `n${number}`;
    const status = { allocatable: { cpu: '4', memory: '8Gi', pods: String(PODS_PER_NODE) } };
    await api.client.of(NODES).create({ metadata: { name }, status });
    await api.client.of(NODES).patch({ name }, 'merge', { spec: { taints: null } });
  }
});
afterAll(() => api.close());

/** A scheduler with a client and copies of its own, as a new process would have. */
const start = () =>
  startScheduler(api.as({ name: 'system:kube-scheduler', groups: ['system:authenticated'] }), {
    writesInFlight: 4,
  });

const bound = async () => {
  const { items } = await api.client.of(PODS).list({ namespace: 'default' });
  return items.filter(({ spec }) => spec.nodeName !== undefined);
};

test('fills every node exactly, over restarts', async () => {
  let stop = start();
  const pods = api.client.of(PODS);
  // One more than there is room for.
  const creations = Array.from({ length: POD_COUNT + 1 }, (_, number) =>
    pods.create({
      metadata: { name: `p${number}`, namespace: 'default' },
      spec: { containers: [{ name: 'c', image: 'busybox' }] },
    }),
  );
  for (const share of [0.2, 0.5, 0.8]) {
    await until(async () => expect((await bound()).length).toBeGreaterThan(POD_COUNT * share));
    await stop();
    stop = start();
  }
  await Promise.all(creations);
  await until(async () => expect(await bound()).toHaveLength(POD_COUNT));
  const counts = new Map<string, number>();
  for (const { spec } of await bound())
    counts.set(spec.nodeName ?? '', (counts.get(spec.nodeName ?? '') ?? 0) + 1);
  expect([...counts.values()]).toEqual([PODS_PER_NODE, PODS_PER_NODE, PODS_PER_NODE]);

  await pods.delete(
    { name: (await bound())[0]?.metadata.name ?? '', namespace: 'default' },
    { gracePeriodSeconds: 0 },
  );
  await until(async () => {
    const { items } = await pods.list({ namespace: 'default' });
    expect(items.filter(({ spec }) => spec.nodeName === undefined)).toEqual([]);
  });
  await stop();
});
