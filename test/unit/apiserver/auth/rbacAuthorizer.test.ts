// Decisions over bindings and roles as they come and go, and what may be granted by whom.
import { beforeEach, describe, expect, test } from 'vitest';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES } from '../../../../src/api/resources.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';
import { makeRbacAuthorizer, type RbacAuthorizer } from '../../../../src/apiserver/auth/rbacAuthorizer.js';
import { makeRbacEscalationCheck } from '../../../../src/apiserver/auth/rbacEscalation.js';
import type { Attributes, UserInfo } from '../../../../src/apiserver/identity.js';
import { StaticInformers } from '../../../support/staticInformers.js';

const jane: UserInfo = { name: 'jane', groups: ['dev', 'system:authenticated'] };
const listPods = (user: UserInfo, namespace: string): Attributes => ({
  user,
  namespace,
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  name: '',
});
const podReader = [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] }];

let informers: StaticInformers;
let rbac: RbacAuthorizer;
beforeEach(() => {
  informers = new StaticInformers();
  rbac = makeRbacAuthorizer(informers);
});

function bind(namespace: string, kind: 'Role' | 'ClusterRole', subject: object): void {
  const type = namespace === '' ? CLUSTER_ROLE_BINDINGS : ROLE_BINDINGS;
  informers.of<never>(type as never).set({
    metadata: { name: 'b', ...(namespace === '' ? {} : { namespace }) },
    roleRef: { kind, name: 'reader', apiGroup: 'rbac.authorization.k8s.io' },
    subjects: [subject],
  });
}

describe('the authorizer', () => {
  test('has no opinion while nothing is bound', () => {
    expect(rbac.authorize(listPods(jane, 'a'))).toEqual({ verdict: 'no opinion', reason: '' });
  });
  test('allows system:masters everything', () => {
    expect(rbac.authorize(listPods({ name: 'x', groups: ['system:masters'] }, 'a')).verdict).toBe('allow');
  });
  test('allows by a role in its namespace only', () => {
    informers.of(ROLES).set({ metadata: { name: 'reader', namespace: 'a' }, rules: podReader });
    bind('a', 'Role', { kind: 'User', name: 'jane' });
    expect(rbac.authorize(listPods(jane, 'a'))).toEqual({
      verdict: 'allow',
      reason: 'RBAC: allowed by RoleBinding "b/a" of Role "reader" to User "jane"',
    });
    expect(rbac.authorize(listPods(jane, 'b')).verdict).toBe('no opinion');
    expect(rbac.authorize(listPods(jane, '')).verdict).toBe('no opinion');
  });
  test('allows by a cluster role everywhere when bound cluster-wide, and takes it back', () => {
    informers.of(CLUSTER_ROLES).set({ metadata: { name: 'reader' }, rules: podReader });
    bind('', 'ClusterRole', { kind: 'Group', name: 'dev' });
    expect(rbac.authorize(listPods(jane, '')).reason).toBe(
      'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "reader" to Group "dev"',
    );
    informers.of(CLUSTER_ROLE_BINDINGS).remove('b');
    expect(rbac.authorize(listPods(jane, '')).verdict).toBe('no opinion');
  });
  test('knows a service account by its subject', () => {
    informers.of(CLUSTER_ROLES).set({ metadata: { name: 'reader' }, rules: podReader });
    bind('a', 'ClusterRole', { kind: 'ServiceAccount', name: 'bot' });
    const bot = { name: 'system:serviceaccount:a:bot', groups: [] };
    expect(rbac.authorize(listPods(bot, 'a')).reason).toContain('to ServiceAccount "bot/a"');
  });
  test('tells of a role that a binding names in vain', () => {
    bind('', 'ClusterRole', { kind: 'User', name: 'jane' });
    expect(rbac.authorize(listPods(jane, ''))).toEqual({
      verdict: 'no opinion',
      reason: 'RBAC: clusterrole.rbac.authorization.k8s.io "reader" not found',
    });
  });
});

describe('the escalation check', () => {
  const request = (
    type: typeof ROLES | typeof ROLE_BINDINGS,
    object: object,
    old?: object,
  ): AdmissionRequest => ({
    operation: old === undefined ? 'create' : 'update',
    type,
    subresource: '',
    namespace: 'a',
    name: 'new',
    user: jane,
    dryRun: false,
    object,
    ...(old === undefined ? {} : { old }),
  });
  const check = (asked: AdmissionRequest) => () =>
    makeRbacEscalationCheck({ rbac, authorizer: rbac }).validate?.(asked);
  const secrets = [{ verbs: ['get'], apiGroups: [''], resources: ['secrets'] }];

  beforeEach(() => {
    informers.of(CLUSTER_ROLES).set({ metadata: { name: 'reader' }, rules: podReader });
    bind('a', 'ClusterRole', { kind: 'User', name: 'jane' });
  });
  test('lets a user grant what it has', () => {
    expect(check(request(ROLES, { rules: podReader }))).not.toThrow();
  });
  test('refuses what it has not, and names it', () => {
    expect(check(request(ROLES, { rules: secrets }))).toThrow(
      'roles.rbac.authorization.k8s.io "new" is forbidden: user "jane" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    );
  });
  test.each([
    ['labels', { labels: { a: 'b' } }, 'not currently held'],
    ['annotations', { annotations: { a: 'b' } }, 'not currently held'],
    ['owners and finalizers', { ownerReferences: [], finalizers: ['a/b'] }, undefined],
  ])('%s of a strong role', (_, metadata, refusal) => {
    const changed = check(request(ROLES, { rules: secrets, metadata }, { rules: secrets, metadata: {} }));
    if (refusal === undefined) expect(changed).not.toThrow();
    else expect(changed).toThrow(refusal);
  });
  test('refuses to bind a stronger role, unless bind is allowed', () => {
    informers.of(CLUSTER_ROLES).set({ metadata: { name: 'strong' }, rules: secrets });
    const binding = request(ROLE_BINDINGS, {
      roleRef: { kind: 'ClusterRole', name: 'strong' },
      subjects: [],
    });
    expect(check(binding)).toThrow('not currently held');
    const mayBind = {
      verbs: ['bind'],
      apiGroups: ['rbac.authorization.k8s.io'],
      resources: ['clusterroles'],
      resourceNames: ['strong'],
    };
    informers.of(CLUSTER_ROLES).set({ metadata: { name: 'reader' }, rules: [...podReader, mayBind] });
    expect(check(binding)).not.toThrow();
  });
  test('refuses to bind a role that does not exist', () => {
    const binding = request(ROLE_BINDINGS, { roleRef: { kind: 'Role', name: 'none' }, subjects: [] });
    expect(check(binding)).toThrow('roles.rbac.authorization.k8s.io "none" not found');
  });
  test('refuses an aggregated role to one who has not everything', () => {
    const refusal = 'must have cluster-admin privileges to use the aggregationRule';
    const aggregated = {
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    };
    expect(check(request(CLUSTER_ROLES, aggregated))).toThrow(refusal);
    expect(check(request(CLUSTER_ROLES, { rules: [] }, aggregated))).toThrow(refusal);
    const none = { rules: [], aggregationRule: { clusterRoleSelectors: [] } };
    expect(check(request(CLUSTER_ROLES, none))).not.toThrow();
  });
  test('a binding’s labels need what it grants', () => {
    informers.of(CLUSTER_ROLES).set({ metadata: { name: 'strong' }, rules: secrets });
    const binding = { roleRef: { kind: 'ClusterRole', name: 'strong' }, subjects: [], metadata: {} };
    const labelled = { ...binding, metadata: { labels: { a: 'b' } } };
    expect(check(request(ROLE_BINDINGS, labelled, binding))).toThrow('not currently held');
    expect(check(request(ROLE_BINDINGS, binding, binding))).not.toThrow();
  });
});
