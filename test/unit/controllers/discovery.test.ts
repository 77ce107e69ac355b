// What the controllers do when one API group does not answer: the others' work goes on, a namespace waits.
import { expect, test } from 'vitest';
import { CONFIG_MAPS, NAMESPACES, PODS, REPLICA_SETS } from '../../../src/api/resources.js';
import { statusError } from '../../../src/api/status.js';
import { discover } from '../../../src/controllers/discovery.js';
import { FakeApi } from '../../support/fakeApi.js';
import { until } from '../../support/until.js';
import { withControllers } from './support/running.js';

const apiWithout = (group: string) => {
  const world = { isBroken: true };
  const api = new FakeApi({
    asked: (path) => {
      if (world.isBroken && path.startsWith(`/apis/${group}/`))
        throw statusError('ServiceUnavailable', 'no endpoints');
    },
  });
  return { api, world };
};

test('discovery names the groups that failed and answers with the others', async () => {
  const { served, failed } = await discover(apiWithout('apps').api);
  expect([...failed]).toEqual([['apps/v1', 'no endpoints']]);
  expect(served.map(({ group }) => group)).toContain('batch');
  expect(served.map(({ group }) => group)).not.toContain('apps');
});

test('a broken group stops no controller of another one', async () => {
  const { api } = apiWithout('autoscaling');
  await withControllers(api, ['replicaset-controller'], async () => {
    await api.of(REPLICA_SETS).create({
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        template: { metadata: { labels: { app: 'web' } }, spec: { containers: [] } },
      },
    });
    await until(() => expect(api.all(PODS)).toHaveLength(1));
  });
});

test('a namespace loses what is known, and waits for the broken group with the truth in its status', async () => {
  const { api, world } = apiWithout('autoscaling');
  await api.of(NAMESPACES).create({ metadata: { name: 'n' }, spec: { finalizers: ['kubernetes'] } });
  await api.of(CONFIG_MAPS).create({ metadata: { name: 'c', namespace: 'n' } });
  await withControllers(api, ['namespace-controller'], async () => {
    await api.of(NAMESPACES).delete({ name: 'n' });
    const said = (type: string) =>
      api.get(NAMESPACES, 'n')?.status?.conditions?.find((condition) => condition.type === type);
    await until(() => expect(said('NamespaceDeletionDiscoveryFailure')?.status).toBe('True'));
    expect(said('NamespaceDeletionDiscoveryFailure')?.message).toContain('autoscaling/');
    expect(said('NamespaceContentRemaining')?.message).not.toBe('All content successfully removed');
    expect(api.all(CONFIG_MAPS)).toEqual([]);
    world.isBroken = false;
    await until(() => expect(api.all(NAMESPACES)).toEqual([]));
  });
});
