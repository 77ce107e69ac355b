// The garbage collector at work: kinds that cannot be listed, owners of unknown kinds and of other namespaces.
import { expect, test } from 'vitest';
import { CONFIG_MAPS, DEPLOYMENTS, EVENTS, REPLICA_SETS, SECRETS } from '../../../../src/api/resources.js';
import { statusError } from '../../../../src/api/status.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { until } from '../../../support/until.js';
import { withControllers } from '../support/running.js';

const COLLECTOR = ['garbage-collector-controller'];
const names = (api: FakeApi) => api.all(CONFIG_MAPS).map(({ metadata }) => metadata.name);
const owned = (name: string, ownerReference: object, namespace = 'default') => ({
  metadata: {
    name,
    namespace,
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'gone', ...ownerReference },
    ],
  },
});

test('goes on after a bounded wait when one kind cannot be listed', async () => {
  let skewMs = 0;
  const api = new FakeApi({
    before: (verb, { resource }) => {
      if (verb === 'list' && resource === SECRETS.resource) throw statusError('InternalError', 'broken');
    },
  });
  await withControllers(
    api,
    COLLECTOR,
    async () => {
      await until(() => expect(api.requests).toContain('list secrets'));
      await api.of(CONFIG_MAPS).create(owned('orphan', {}));
      skewMs = 40_000;
      await until(() => expect(names(api)).toEqual([]));
    },
    { now: () => Date.now() + skewMs },
  );
});

test('looks again at an owner whose kind is served only later', async () => {
  let isServed = false;
  const api = new FakeApi({ serves: ({ kind }) => kind !== 'ReplicaSet' || isServed });
  await withControllers(api, COLLECTOR, async () => {
    await api.of(CONFIG_MAPS).create(owned('late', {}));
    await api.of(CONFIG_MAPS).create(owned('known', { kind: 'Deployment' }));
    await until(() => expect(names(api)).toEqual(['late']));
    isServed = true;
    await until(() => expect(names(api)).toEqual([]));
  });
});

test('counts an owner in its own namespace alone', async () => {
  const api = new FakeApi();
  const { metadata } = await api.of(DEPLOYMENTS).create({ metadata: { name: 'web', namespace: 'a' } });
  const reference = { kind: 'Deployment', name: 'web', uid: metadata.uid, blockOwnerDeletion: true };
  await api.of(REPLICA_SETS).create({ metadata: { name: 'other', namespace: 'b' } });
  const other = api.all(REPLICA_SETS)[0]?.metadata.uid;
  // Held by an owner of its own, whatever becomes of the one in another namespace.
  const both = owned('held', reference, 'b');
  both.metadata.ownerReferences.push({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: 'other',
    uid: other ?? '',
  });
  await api.of(CONFIG_MAPS).create(both);
  await api.of(CONFIG_MAPS).create(owned('foreign', reference, 'b'));
  await api.of(CONFIG_MAPS).create(owned('own', reference, 'a'));
  await withControllers(api, COLLECTOR, async () => {
    await until(() => expect(names(api)).toEqual(['held', 'own']));
    await until(() =>
      expect(api.all(EVENTS).map(({ reason }) => reason)).toContain('OwnerRefInvalidNamespace'),
    );
    await api.of(DEPLOYMENTS).delete({ name: 'web', namespace: 'a' }, { propagationPolicy: 'Foreground' });
    await until(() => expect(api.all(DEPLOYMENTS)).toEqual([]));
    expect(names(api)).toEqual(['held']);
  });
});
