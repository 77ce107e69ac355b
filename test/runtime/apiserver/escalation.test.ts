// Who may write roles on the real server, and still not get more than they hold.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES } from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const RBAC = 'rbac.authorization.k8s.io';
const NOT_HELD = /is attempting to grant RBAC permissions not currently held/;

let api: SecuredApiServer;
let writer: Client;
beforeAll(async () => {
  api = await startSecuredApiServer();
  const roles = api.client.of(CLUSTER_ROLES);
  const verbs = ['get', 'list', 'create', 'update', 'patch'];
  await roles.create({
    metadata: { name: 'role-writer' },
    rules: [{ apiGroups: [RBAC], resources: ['clusterroles'], verbs }],
  });
  await roles.create({
    metadata: { name: 'everything', finalizers: ['example.com/kept'] },
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  });
  await api.client.of(CLUSTER_ROLE_BINDINGS).create({
    metadata: { name: 'role-writer' },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'role-writer' },
    subjects: [{ apiGroup: RBAC, kind: 'User', name: 'writer' }],
  });
  writer = api.as({ name: 'writer', groups: ['system:authenticated'] });
  await until(() => writer.of(CLUSTER_ROLES).get({ name: 'everything' }));
});
afterAll(async () => {
  writer.close();
  await api.close();
});

test('a strong role is not labelled into an aggregated one by who does not hold it', async () => {
  const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
  const patch = writer.of(CLUSTER_ROLES).patch({ name: 'everything' }, 'merge', { metadata: { labels } });
  await expect(patch).rejects.toThrow(NOT_HELD);
});

test('an aggregated role is not detached from its selectors by who has not everything', async () => {
  const roles = writer.of(CLUSTER_ROLES);
  const patch = roles.patch({ name: 'admin' }, 'merge', { aggregationRule: null, rules: [] });
  await expect(patch).rejects.toThrow('must have cluster-admin privileges to use the aggregationRule');
});

test('what the garbage collector changes needs no right to the rules', async () => {
  const roles = writer.of(CLUSTER_ROLES);
  const changed = await roles.patch({ name: 'everything' }, 'merge', { metadata: { finalizers: null } });
  expect(changed.metadata.finalizers).toBeUndefined();
});
