// The table of imagePullCredentialsVerificationPolicy: who may use an image that is on the node.
import { describe, expect, test } from 'vitest';
import { completeConfig } from '../../../src/kubelet/config.js';
import {
  type AccessQuestion,
  mayUse,
  type PullSecret,
  VERIFICATION_POLICIES,
  withPuller,
} from '../../../src/kubelet/imageAccess.js';

const IMAGE = 'registry.example.com/team/app:v1';
const REPOSITORY = 'registry.example.com/team/app';
const secret = (more: Partial<PullSecret> = {}): PullSecret => ({
  uid: 'u1',
  namespace: 'shop',
  name: 'pull',
  credentialHash: 'h1',
  ...more,
});
const STRANGER = secret({ uid: 'u9', namespace: 'other', credentialHash: 'h9' });
const ask = (more: Partial<AccessQuestion>) =>
  mayUse({
    policy: 'NeverVerifyPreloadedImages',
    allowlist: [],
    image: IMAGE,
    pulled: undefined,
    intended: false,
    secrets: [],
    ...more,
  });
const bySecret = { [REPOSITORY]: { kubernetesSecrets: [secret()] } };

describe.each([
  // of whom the image is, and which policies let a pod without credentials use it
  ['put there by others', {}, [true, true, false, false]],
  ['a pull that was not seen to end', { intended: true }, [true, false, false, false]],
  ['pulled with unknown credentials', { pulled: {} }, [true, false, false, false]],
  ['pulled with a secret', { pulled: bySecret }, [true, false, false, false]],
  [
    'pulled by everybody',
    { pulled: { [REPOSITORY]: { nodePodsAccessible: true } } },
    [true, true, true, true],
  ],
  [
    'pulled by everybody from elsewhere',
    { pulled: { 'docker.io/app': { nodePodsAccessible: true } } },
    [true, false, false, false],
  ],
] satisfies [string, Partial<AccessQuestion>, boolean[]][])('an image %s', (_, state, allowed) => {
  test.each(VERIFICATION_POLICIES.map((policy, index) => ({ policy, allowed: allowed[index] })))(
    '$policy: $allowed',
    ({ policy, allowed }) => {
      expect(ask({ policy, ...state })).toEqual({ allowed });
      expect(ask({ policy, ...state, secrets: [STRANGER] }).allowed).toBe(allowed);
    },
  );
});

test.each([
  ['the same', secret(), { allowed: true }],
  [
    'the same credentials elsewhere',
    secret({ namespace: 'b', uid: 'u2' }),
    { allowed: true, remember: secret({ namespace: 'b', uid: 'u2' }) },
  ],
  [
    'new credentials in the same place',
    secret({ credentialHash: 'h2' }),
    { allowed: true, remember: secret({ credentialHash: 'h2' }) },
  ],
  ['a namesake with other credentials', secret({ uid: 'u2', credentialHash: 'h2' }), { allowed: false }],
])('of an image pulled with a secret, a pod with %s', (_, own, answer) => {
  expect(ask({ pulled: bySecret, secrets: [STRANGER, own] })).toEqual(answer);
  expect(ask({ policy: 'AlwaysVerify', pulled: bySecret, secrets: [own] })).toEqual(answer);
});

test('a hash that was not made matches nothing', () => {
  const pulled = { [REPOSITORY]: { kubernetesSecrets: [secret({ credentialHash: '' })] } };
  expect(ask({ pulled, secrets: [{ ...STRANGER, credentialHash: '' }] })).toEqual({ allowed: false });
});

test('a record does not grow for ever by what only matches', () => {
  const many = Array.from({ length: 100 }, (_, index) => secret({ uid: `n${index}`, credentialHash: 'h1' }));
  const pulled = { [REPOSITORY]: { kubernetesSecrets: many } };
  expect(ask({ pulled, secrets: [secret({ uid: 'new' })] })).toEqual({ allowed: true });
  expect(ask({ pulled, secrets: [secret({ uid: 'n0', credentialHash: 'h2' })] })).toEqual({ allowed: false });
});

test.each([
  ['registry.example.com/team/app', true],
  ['registry.example.com/team/*', true],
  ['registry.example.com/*', true],
  ['registry.example.com/tea/*', false],
  ['registry.example.com/team/ap', false],
])('the allow list with %s: %s', (entry, allowed) => {
  const allowlist = ['busybox', entry];
  expect(ask({ policy: 'NeverVerifyAllowlistedImages', allowlist, pulled: bySecret })).toEqual({ allowed });
  expect(ask({ policy: 'AlwaysVerify', allowlist, pulled: bySecret })).toEqual({ allowed: false });
});

test('what pulled is added once; without credentials it opens the image to all', () => {
  const first = withPuller({}, IMAGE, secret());
  expect(first).toEqual(bySecret);
  expect(withPuller(first, `${REPOSITORY}:v2`, secret())).toBe(first);
  const renewed = withPuller(first, IMAGE, secret({ credentialHash: 'h2' }));
  expect(renewed).toEqual({ [REPOSITORY]: { kubernetesSecrets: [secret({ credentialHash: 'h2' })] } });
  expect(withPuller(first, IMAGE, STRANGER)[REPOSITORY]?.kubernetesSecrets).toEqual([secret(), STRANGER]);
  const open = withPuller(first, IMAGE, undefined);
  expect(open).toEqual({ [REPOSITORY]: { nodePodsAccessible: true } });
  expect(withPuller(open, IMAGE, secret())).toBe(open);
});

test('an allow list belongs to its policy and names repositories', () => {
  const config = (policy: (typeof VERIFICATION_POLICIES)[number], entry: string) => () =>
    completeConfig({
      nodeName: 'n',
      imagePullCredentialsVerificationPolicy: policy,
      preloadedImagesVerificationAllowlist: [entry],
    });
  expect(config('AlwaysVerify', 'busybox')).toThrow(/preloadedImagesVerificationAllowlist/);
  for (const entry of ['busybox', 'example.com/*'])
    expect(config('NeverVerifyAllowlistedImages', entry)).not.toThrow();
  for (const entry of ['', '/*', '*', 'a*/*', 'app:v1', ' busybox', 'example.com/a*'])
    expect(config('NeverVerifyAllowlistedImages', entry)).toThrow(/preloadedImagesVerificationAllowlist/);
  expect(completeConfig({ nodeName: 'n' }).imagePullCredentialsVerificationPolicy).toBe(
    'NeverVerifyPreloadedImages',
  );
});
