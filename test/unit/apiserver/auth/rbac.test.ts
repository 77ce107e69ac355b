// RBAC arithmetic as tables: which rule allows what, and how a refusal reads.
import { describe, expect, test } from 'vitest';
import type { V1PolicyRule } from '../../../../src/api/gen/types.js';
import { forbiddenError, ruleAllows, subjectKey } from '../../../../src/apiserver/auth/rbac.js';
import type { Attributes } from '../../../../src/apiserver/identity.js';

const asked = (changes: Partial<Attributes> = {}): Attributes => ({
  user: { name: 'jane', groups: [] },
  verb: 'list',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: '',
  ...changes,
});
const path = (path: string, verb = 'get') => asked({ path, verb, resource: '', namespace: '' });
const rule = (changes: Partial<V1PolicyRule>): V1PolicyRule => ({
  verbs: ['list'],
  apiGroups: [''],
  resources: ['pods'],
  ...changes,
});

describe('a rule', () => {
  const cases: readonly [string, V1PolicyRule, Attributes, boolean][] = [
    ['allows the verb, group and resource it names', rule({}), asked(), true],
    ['allows no other verb', rule({}), asked({ verb: 'get' }), false],
    ['allows no other group', rule({}), asked({ group: 'apps' }), false],
    ['allows no other resource', rule({}), asked({ resource: 'secrets' }), false],
    ['allows every verb by *', rule({ verbs: ['*'] }), asked({ verb: 'delete' }), true],
    ['allows every group by *', rule({ apiGroups: ['*'] }), asked({ group: 'apps' }), true],
    [
      'allows every resource and subresource by *',
      rule({ resources: ['*'] }),
      asked({ subresource: 'log' }),
      true,
    ],
    ['of a resource does not reach its subresources', rule({}), asked({ subresource: 'log' }), false],
    [
      'names a subresource as pods/log',
      rule({ resources: ['pods/log'] }),
      asked({ subresource: 'log' }),
      true,
    ],
    ['of pods/log does not reach pods', rule({ resources: ['pods/log'] }), asked(), false],
    [
      'names a subresource of anything as */scale',
      rule({ resources: ['*/scale'] }),
      asked({ resource: 'x', subresource: 'scale' }),
      true,
    ],
    [
      'of */scale does not reach other subresources',
      rule({ resources: ['*/scale'] }),
      asked({ subresource: 'log' }),
      false,
    ],
    ['with names allows those names', rule({ resourceNames: ['a'] }), asked({ name: 'a' }), true],
    ['with names allows no list without a name', rule({ resourceNames: ['a'] }), asked(), false],
    ['without groups allows nothing', { verbs: ['*'], resources: ['*'] }, asked(), false],
    ['of a path allows the path', { verbs: ['get'], nonResourceURLs: ['/healthz'] }, path('/healthz'), true],
    [
      'of a path allows nothing below it',
      { verbs: ['get'], nonResourceURLs: ['/healthz'] },
      path('/healthz/x'),
      false,
    ],
    [
      'of a path with * allows what is below',
      { verbs: ['get'], nonResourceURLs: ['/healthz/*'] },
      path('/healthz/x'),
      true,
    ],
    [
      'of resources allows no path',
      rule({ verbs: ['*'], resources: ['*'], apiGroups: ['*'] }),
      path('/version'),
      false,
    ],
    ['of paths allows no resource', { verbs: ['*'], nonResourceURLs: ['*'] }, asked(), false],
  ];
  test.each(cases)('%s', (_, given, attributes, expected) => {
    expect(ruleAllows(given, attributes)).toBe(expected);
  });
});

describe('a refusal', () => {
  const cases: readonly [string, Attributes][] = [
    [
      'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"',
      asked(),
    ],
    [
      'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
      asked({ resource: 'nodes', namespace: '' }),
    ],
    [
      'deployments.apps "web" is forbidden: User "jane" cannot patch resource "deployments/scale" in API group "apps" in the namespace "default"',
      asked({ verb: 'patch', group: 'apps', resource: 'deployments', subresource: 'scale', name: 'web' }),
    ],
    ['forbidden: User "jane" cannot get path "/metrics"', path('/metrics')],
  ];
  test.each(cases)('%s', (message, attributes) => {
    expect(forbiddenError(attributes).message).toBe(message);
  });
});

describe('a subject', () => {
  test('that is a service account is the user it authenticates as', () => {
    expect(subjectKey({ kind: 'ServiceAccount', name: 'sa' }, 'ns')).toBe('User:system:serviceaccount:ns:sa');
    expect(subjectKey({ kind: 'ServiceAccount', name: 'sa', namespace: 'other' }, 'ns')).toBe(
      'User:system:serviceaccount:other:sa',
    );
  });
  test('of an unknown kind, or a service account of nowhere, is nobody', () => {
    expect(subjectKey({ kind: 'ServiceAccount', name: 'sa' }, '')).toBeUndefined();
    expect(subjectKey({ kind: 'Robot', name: 'sa' }, 'ns')).toBeUndefined();
  });
});
