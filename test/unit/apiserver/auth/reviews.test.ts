// Reviews answer as kubectl auth can-i, whoami and webhooks expect, and refuse nonsense.
import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../../src/api/status.js';
import { makeReviews } from '../../../../src/apiserver/auth/reviews.js';
import type { UserInfo } from '../../../../src/apiserver/identity.js';

const jane: UserInfo = { name: 'jane', groups: ['system:authenticated'] };
const reviews = makeReviews({
  authorizer: {
    authorize: ({ user, verb, path }) => ({
      verdict: user.name === 'jane' && verb === 'get' ? 'allow' : 'no opinion',
      reason: path ?? '',
    }),
  },
  rbac: {
    rulesFor: () => [
      { verbs: ['get'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['get'], nonResourceURLs: ['/version'] },
    ],
  },
  tokens: {
    verify: async (token, audiences) => {
      if (token === 'bad') throw new Error('secret reason');
      return token === 'good' ? { user: { name: 'sa', groups: [] }, audiences } : undefined;
    },
  },
  audiences: ['api'],
});
const ask = (key: string, spec: unknown, namespace = '') =>
  reviews
    .find(({ group, resource }) => `${group}/${resource}` === key)
    ?.answer({ metadata: {}, spec }, { user: jane, namespace });
const pods = (verb: string) => ({ resourceAttributes: { verb, resource: 'pods', namespace: 'a' } });

describe('access reviews', () => {
  test('of oneself', async () => {
    const spec = pods('get');
    expect(await ask('authorization.k8s.io/selfsubjectaccessreviews', spec)).toEqual({
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec,
      status: { allowed: true },
    });
    expect(await ask('authorization.k8s.io/selfsubjectaccessreviews', pods('list'))).toMatchObject({
      status: { allowed: false },
    });
  });
  test('of another, of a path', async () => {
    const spec = { user: 'joe', nonResourceAttributes: { verb: 'get', path: '/x' } };
    expect(await ask('authorization.k8s.io/subjectaccessreviews', spec)).toMatchObject({
      status: { allowed: false, reason: '/x' },
    });
  });
  test.each([
    ['nothing asked', 'selfsubjectaccessreviews', {}],
    ['both asked', 'selfsubjectaccessreviews', { ...pods('get'), nonResourceAttributes: {} }],
    ['nobody named', 'subjectaccessreviews', pods('get')],
    ['a verb that is a number', 'selfsubjectaccessreviews', { resourceAttributes: { verb: 3 } }],
    ['a namespace that is not its own', 'localsubjectaccessreviews', { user: 'joe', ...pods('get') }],
    ['a body that is a list', 'selfsubjectaccessreviews', []],
  ])('refuse %s', async (_, resource, spec) => {
    await expect(ask(`authorization.k8s.io/${resource}`, spec, 'b')).rejects.toBeInstanceOf(ApiError);
  });
  test('of rules split resources from paths', async () => {
    expect(await ask('authorization.k8s.io/selfsubjectrulesreviews', { namespace: 'a' })).toMatchObject({
      status: {
        resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/version'] }],
        incomplete: false,
      },
    });
  });
});

describe('identity reviews', () => {
  test('tell who one is', async () => {
    expect(await ask('authentication.k8s.io/selfsubjectreviews', undefined)).toEqual({
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      status: { userInfo: { username: 'jane', groups: ['system:authenticated'] } },
    });
  });
  test.each([
    [
      'good',
      { authenticated: true, user: { username: 'sa', groups: ['system:authenticated'] }, audiences: ['api'] },
    ],
    ['bad', { authenticated: false, error: 'invalid bearer token' }],
    ['foreign', { authenticated: false }],
  ])('judge a %s token', async (token, status) => {
    expect(await ask('authentication.k8s.io/tokenreviews', { token })).toMatchObject({ status });
  });
});
