// The default policy: complete after the first run, untouched by the second, repaired when damaged; who may what by it.
import { beforeEach, describe, expect, test } from 'vitest';
import type { V1ClusterRole } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from '../../../../src/api/resources.js';
import { reconcileBootstrapPolicy } from '../../../../src/apiserver/auth/bootstrapPolicy.js';
import {
  AUTO_UPDATE,
  bootstrapBindings,
  bootstrapNamespaceBindings,
  bootstrapNamespaceRoles,
  bootstrapRoles,
} from '../../../../src/apiserver/auth/bootstrapRoles.js';
import { uncoveredRules } from '../../../../src/apiserver/auth/coverage.js';
import { pathRule, rule } from '../../../../src/apiserver/auth/policyRule.js';
import { ruleAllows } from '../../../../src/apiserver/auth/rbac.js';
import { makeRbacAuthorizer } from '../../../../src/apiserver/auth/rbacAuthorizer.js';
import { aggregatedRules } from '../../../../src/controllers/clusterRoleAggregation.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { StaticInformers } from '../../../support/staticInformers.js';

describe('reconciling', () => {
  let client: FakeApi;
  beforeEach(async () => {
    client = new FakeApi();
    await reconcileBootstrapPolicy(client);
  });
  test('creates everything, then nothing', async () => {
    const all = [
      bootstrapRoles,
      bootstrapBindings,
      bootstrapNamespaceRoles,
      bootstrapNamespaceBindings,
    ].flat();
    expect(client.writes).toHaveLength(all.length);
    expect(await reconcileBootstrapPolicy(client)).toEqual([]);
  });
  test('adds a missing rule and keeps what was added', async () => {
    const extra = { verbs: ['get'], apiGroups: ['example.com'], resources: ['things'] };
    const role = await client.of(CLUSTER_ROLES).get({ name: 'system:basic-user' });
    client.put(CLUSTER_ROLES, { ...role, rules: [extra] });
    expect(await reconcileBootstrapPolicy(client)).toEqual(['clusterrole/system:basic-user']);
    const { rules } = await client.of(CLUSTER_ROLES).get({ name: 'system:basic-user' });
    expect(rules).toEqual([extra, ...(role.rules ?? [])]);
  });
  test('adds a missing subject', async () => {
    const binding = await client.of(CLUSTER_ROLE_BINDINGS).get({ name: 'cluster-admin' });
    client.put(CLUSTER_ROLE_BINDINGS, { ...binding, subjects: [] });
    expect(await reconcileBootstrapPolicy(client)).toEqual(['clusterrolebinding/cluster-admin']);
  });
  test('repairs the roles and bindings of a namespace', async () => {
    const at = { name: 'system:controller:token-cleaner', namespace: 'kube-system' };
    const role = await client.of(ROLES).get(at);
    const binding = await client.of(ROLE_BINDINGS).get(at);
    client.put(ROLES, { ...role, rules: [] });
    client.put(ROLE_BINDINGS, { ...binding, subjects: [] });
    expect(await reconcileBootstrapPolicy(client)).toEqual([
      'role/kube-system/system:controller:token-cleaner',
      'rolebinding/kube-system/system:controller:token-cleaner',
    ]);
    expect((await client.of(ROLES).get(at)).rules).toEqual(role.rules);
    expect((await client.of(ROLE_BINDINGS).get(at)).subjects).toEqual(binding.subjects);
  });
  test('makes a binding anew that gives another role', async () => {
    const binding = await client.of(CLUSTER_ROLE_BINDINGS).get({ name: 'system:discovery' });
    const roleRef = { ...binding.roleRef, name: 'cluster-admin' };
    client.put(CLUSTER_ROLE_BINDINGS, { ...binding, roleRef });
    expect(await reconcileBootstrapPolicy(client)).toEqual(['clusterrolebinding/system:discovery']);
    const made = await client.of(CLUSTER_ROLE_BINDINGS).get({ name: 'system:discovery' });
    expect(made.roleRef.name).toBe('system:discovery');
  });
  test('takes from the controller manager what an earlier version gave it, and nothing else', async () => {
    const at = { name: 'system:kube-controller-manager' };
    const role = await client.of(CLUSTER_ROLES).get(at);
    const extra = rule('example.com', 'things', 'get');
    const old = [rule('*', '*', 'delete deletecollection patch update'), pathRule('*')];
    client.put(CLUSTER_ROLES, { ...role, rules: [...old, extra] });
    await reconcileBootstrapPolicy(client);
    expect((await client.of(CLUSTER_ROLES).get(at)).rules).toEqual([extra, ...(role.rules ?? [])]);
  });
  test('keeps the value that an administrator gave a label, and what aggregation wrote', async () => {
    const role = await client.of(CLUSTER_ROLES).get({ name: 'edit' });
    const labels = { ...role.metadata.labels, 'rbac.authorization.k8s.io/aggregate-to-admin': 'false' };
    client.put(CLUSTER_ROLES, { ...role, metadata: { ...role.metadata, labels }, rules: [] });
    expect(await reconcileBootstrapPolicy(client)).toEqual([]);
  });
  test('leaves alone what says autoupdate=false', async () => {
    const role = await client.of(CLUSTER_ROLES).get({ name: 'system:basic-user' });
    client.put(CLUSTER_ROLES, {
      ...role,
      rules: [],
      metadata: { ...role.metadata, annotations: { [AUTO_UPDATE]: 'false' } },
    });
    expect(await reconcileBootstrapPolicy(client)).toEqual([]);
  });
});

test.each(['admin', 'edit', 'view'])(
  'aggregation takes nothing from %s that reconciling would add again',
  (name) => {
    let roles = bootstrapRoles as readonly Stored<V1ClusterRole>[];
    // Roles that select one another settle after as many rounds as they are deep.
    for (let round = 0; round < 3; round += 1)
      roles = roles.map((role) => ({
        ...role,
        rules: (role.aggregationRule && aggregatedRules(role, roles)) ?? role.rules,
      }));
    const [settled, wanted] = [roles, bootstrapRoles].map((all) =>
      all.find(({ metadata }) => metadata?.name === name),
    );
    expect(uncoveredRules(settled?.rules ?? [], wanted?.rules ?? [])).toEqual([]);
  },
);

describe('by the default policy', () => {
  const informers = new StaticInformers();
  for (const role of bootstrapRoles) informers.of(CLUSTER_ROLES).set(role);
  for (const binding of bootstrapBindings) informers.of(CLUSTER_ROLE_BINDINGS).set(binding);
  const rbac = makeRbacAuthorizer(informers);
  const users = {
    nobody: { name: 'jane', groups: ['system:authenticated'] },
    stranger: { name: 'system:anonymous', groups: ['system:unauthenticated'] },
    scheduler: { name: 'system:kube-scheduler', groups: ['system:authenticated'] },
    controllers: { name: 'system:kube-controller-manager', groups: ['system:authenticated'] },
    proxy: { name: 'system:kube-proxy', groups: ['system:authenticated'] },
  };
  const cases: readonly [keyof typeof users, string, string, boolean][] = [
    ['nobody', 'list', 'pods', false],
    ['nobody', 'create', 'authorization.k8s.io:selfsubjectaccessreviews', true],
    ['nobody', 'get', '/apis/apps/v1', true],
    ['nobody', 'get', '/metrics', false],
    ['stranger', 'get', '/version', true],
    ['stranger', 'get', '/api', false],
    ['stranger', 'create', 'authorization.k8s.io:selfsubjectaccessreviews', false],
    ['scheduler', 'create', 'pods/binding', true],
    ['scheduler', 'patch', 'pods/status', true],
    ['scheduler', 'list', 'nodes', true],
    ['scheduler', 'list', 'resource.k8s.io:resourceclaims', true],
    ['scheduler', 'get', 'secrets', false],
    ['scheduler', 'create', 'pods', false],
    ['controllers', 'list', 'pods', true],
    ['controllers', 'create', 'pods', false],
    ['controllers', 'delete', 'pods', false],
    ['controllers', 'create', 'rbac.authorization.k8s.io:clusterrolebindings', false],
    ['proxy', 'watch', 'discovery.k8s.io:endpointslices', true],
    ['proxy', 'get', 'secrets', false],
  ];
  test.each(cases)('%s, %s %s: %s', (who, verb, what, allowed) => {
    const [group = '', full = ''] = what.includes(':') ? what.split(':') : ['', what];
    const [resource = '', subresource = ''] = full.split('/');
    const base = { user: users[who], verb, version: 'v1', namespace: '', name: '' };
    const attributes = what.startsWith('/')
      ? { ...base, group: '', resource: '', subresource: '', path: what }
      : { ...base, group, resource, subresource };
    expect(rbac.authorize(attributes).verdict === 'allow').toBe(allowed);
  });
  test.each([
    ['view', 'get', 'secrets', false],
    ['view', 'get', 'pods', true],
    ['view', 'delete', 'pods', false],
    ['edit', 'get', 'secrets', true],
    ['edit', 'create', 'pods', true],
    ['admin', 'delete', 'pods', true],
  ])('the role %s: %s %s is %s', (name, verb, resource, allowed) => {
    const rules = bootstrapRoles.find(({ metadata }) => metadata?.name === name)?.rules ?? [];
    const attributes = {
      user: users.nobody,
      verb,
      resource,
      group: '',
      version: 'v1',
      subresource: '',
      namespace: 'a',
      name: 'x',
    };
    expect(rules.some((rule) => ruleAllows(rule, attributes))).toBe(allowed);
  });
});
