// Authorization modes in their order, and the ways to say who one is that are files or Secrets.
import { describe, expect, test } from 'vitest';
import { parsePolicyFile } from '../../../../src/apiserver/auth/abac.js';
import { makeBasicAuthenticator } from '../../../../src/apiserver/auth/basicAuth.js';
import { makeBootstrapTokenAuthenticator } from '../../../../src/apiserver/auth/bootstrapToken.js';
import {
  type AuthorizationMode,
  makeAuthorization,
  parseModes,
} from '../../../../src/apiserver/auth/modes.js';
import type { Attributes } from '../../../../src/apiserver/identity.js';
import { StaticInformers } from '../../../support/staticInformers.js';

const asked = (changes: Partial<Attributes> = {}): Attributes => ({
  user: { name: 'jane', groups: ['system:authenticated'] },
  verb: 'get',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: '',
  namespace: 'a',
  name: 'x',
  ...changes,
});
const line = (spec: object) =>
  JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec });
const verdict = (modes: readonly AuthorizationMode[], attributes: Attributes, policyFile?: string) =>
  makeAuthorization({ informers: new StaticInformers(), modes, policyFile }).authorizer.authorize(attributes)
    .verdict;

describe('modes', () => {
  test('keep their order', () => expect(parseModes('ABAC,Node,RBAC')).toEqual(['ABAC', 'Node', 'RBAC']));
  test.each(['Webhook', '', 'RBAC,RBAC', 'rbac'])('refuse %j', (text) => {
    expect(() => parseModes(text)).toThrow(/authorization mode/);
  });
  test.each<[string, readonly AuthorizationMode[], string]>([
    ['AlwaysAllow allows', ['AlwaysAllow'], 'allow'],
    ['AlwaysDeny allows nothing', ['AlwaysDeny'], 'no opinion'],
    ['RBAC alone knows nobody', ['RBAC'], 'no opinion'],
    ['a later mode is asked when the first has no opinion', ['RBAC', 'AlwaysAllow'], 'allow'],
  ])('%s', (_, modes, expected) => expect(verdict(modes, asked())).toBe(expected));
  test('never shut out system:masters', () => {
    expect(verdict(['AlwaysDeny'], asked({ user: { name: 'a', groups: ['system:masters'] } }))).toBe('allow');
  });
  test('want a policy file for ABAC, and ABAC for a policy file', () => {
    expect(() => verdict(['ABAC'], asked())).toThrow(/together/);
    expect(() => verdict(['RBAC'], asked(), '')).toThrow(/together/);
  });
});

describe('ABAC', () => {
  test.each<[string, object, Partial<Attributes>, boolean]>([
    ['a user, a namespace, a resource', { user: 'jane', namespace: 'a', resource: 'pods' }, {}, true],
    ['another namespace', { user: 'jane', namespace: 'b', resource: 'pods' }, {}, false],
    ['everything', { user: '*', namespace: '*', resource: '*', apiGroup: '*' }, {}, true],
    ['a group', { group: 'system:authenticated', namespace: '*', resource: '*' }, {}, true],
    ['readonly and a read', { user: 'jane', namespace: '*', resource: '*', readonly: true }, {}, true],
    [
      'readonly and a write',
      { user: 'jane', namespace: '*', resource: '*', readonly: true },
      { verb: 'create' },
      false,
    ],
    ['nobody', { namespace: '*', resource: '*' }, {}, false],
    ['a path', { user: 'jane', nonResourcePath: '/healthz*' }, { path: '/healthz/ping', resource: '' }, true],
    [
      'another path',
      { user: 'jane', nonResourcePath: '/healthz*' },
      { path: '/metrics', resource: '' },
      false,
    ],
    [
      'a resource policy and a path',
      { user: '*', namespace: '*', resource: '*' },
      { path: '/metrics' },
      false,
    ],
  ])('%s', (_, spec, changes, allowed) => {
    expect(verdict(['ABAC'], asked(changes), line(spec))).toBe(allowed ? 'allow' : 'no opinion');
  });
  test.each<[string, object, Partial<Attributes>, boolean]>([
    ['a user', { user: 'jane' }, { group: 'apps' }, true],
    ['a user and a path', { user: 'jane' }, { path: '/metrics', resource: '' }, true],
    ['another user', { user: 'joe' }, {}, false],
    ['a resource', { user: 'jane', resource: 'pods' }, {}, true],
    ['a resource and a path', { user: 'jane', resource: 'pods' }, { path: '/metrics', resource: '' }, false],
    ['another namespace', { user: 'jane', namespace: 'b' }, {}, false],
    ['readonly and a write', { user: 'jane', readonly: true }, { verb: 'create' }, false],
    ['nobody by name: all who are known', {}, {}, true],
    ['anonymous', { user: '*' }, { user: { name: 'system:anonymous', groups: [] } }, false],
  ])('a line without apiVersion: %s', (_, policy, changes, allowed) => {
    const told: string[] = [];
    const { authorizer } = makeAuthorization({
      informers: new StaticInformers(),
      modes: ['ABAC'],
      policyFile: JSON.stringify(policy),
      warn: (sentence) => told.push(sentence),
    });
    expect(authorizer.authorize(asked(changes)).verdict).toBe(allowed ? 'allow' : 'no opinion');
    expect(told).toEqual([expect.stringContaining('unversioned rules')]);
  });
  test('a star is nobody who did not say who they are', () => {
    const anonymous = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
    const everything = line({ user: '*', namespace: '*', resource: '*', apiGroup: '*' });
    expect(verdict(['ABAC'], asked({ user: anonymous }), everything)).toBe('no opinion');
  });
  test.each([
    ['not JSON', '{'],
    ['another kind', '{"kind":"Role"}'],
    ['an unknown property', line({ user: 'a', verbs: ['get'] })],
    ['a wrong type', line({ user: 5 })],
    ['another version', '{"apiVersion":"v1","kind":"Policy","spec":{}}'],
    ['a list', '[]'],
  ])('refuses a file with %s', (_, text) => {
    expect(() => parsePolicyFile(`# comment\n${text}`)).toThrow(/line 2/);
  });
});

describe('basic authentication', () => {
  const authenticator = makeBasicAuthenticator('secret,jane,u1,"a,b"\nother:colon,bob,u2');
  const ask = (text: string) =>
    authenticator.authenticate({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  test('knows users by name and password', async () => {
    expect(await ask('jane:secret')).toEqual({ name: 'jane', uid: 'u1', groups: ['a', 'b'] });
    expect(await ask('bob:other:colon')).toMatchObject({ name: 'bob' });
  });
  test.each(['jane:wrong', 'nobody:', 'jane:', 'nobody:secret'])('refuses %s', async (text) => {
    await expect(ask(text)).rejects.toMatchObject({ code: 401 });
  });
  test('leaves other credentials to others', async () => {
    expect(await authenticator.authenticate({ authorization: 'Bearer x' })).toBeUndefined();
    expect(await authenticator.authenticate({})).toBeUndefined();
  });
});

describe('bootstrap tokens', () => {
  const base = {
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-authentication': 'true',
    expiration: '2030-01-01T00:00:00Z',
    'auth-extra-groups': 'system:bootstrappers:kubeadm:default-node-token',
  };
  const ask = (data: object, extra = {}, token = 'abcdef.0123456789abcdef') => {
    const encoded = Object.fromEntries(
      Object.entries({ ...base, ...data }).map(([key, value]) => [
        key,
        Buffer.from(value).toString('base64'),
      ]),
    );
    const secret = {
      metadata: { name: 'x' },
      type: 'bootstrap.kubernetes.io/token',
      data: encoded,
      ...extra,
    };
    return makeBootstrapTokenAuthenticator({
      secret: async ({ name }) => (name === 'bootstrap-token-abcdef' ? (secret as never) : undefined),
      now: () => Date.parse('2026-01-01T00:00:00Z'),
    }).authenticate({ authorization: `Bearer ${token}` });
  };
  test('name a bootstrapper', async () => {
    expect(await ask({})).toEqual({
      name: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', 'system:bootstrappers:kubeadm:default-node-token'],
    });
  });
  test.each<[string, object, object, string?]>([
    ['another secret', {}, {}, 'abcdef.0123456789abcdeX'.toLowerCase().replace('x', '0')],
    ['no such token', {}, {}, 'zzzzzz.0123456789abcdef'],
    ['expired', { expiration: '2025-01-01T00:00:00Z' }, {}],
    ['an expiry that is no time', { expiration: 'soon' }, {}],
    ['not for authentication', { 'usage-bootstrap-authentication': 'false' }, {}],
    ['a group outside', { 'auth-extra-groups': 'system:masters' }, {}],
    ['going', {}, { metadata: { deletionTimestamp: 'now' } }],
    ['another type', {}, { type: 'Opaque' }],
  ])('are refused: %s', async (_, data, extra, token) => {
    await expect(ask(data, extra, token)).rejects.toMatchObject({ code: 401, message: 'Unauthorized' });
  });
  test('are not taken for other tokens', async () => {
    expect(await ask({}, {}, 'eyJhbGciOi.J9.x')).toBeUndefined();
  });
});
