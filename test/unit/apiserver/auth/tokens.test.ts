// Who a request is from: service account tokens from issue to refusal, token files, the order of authenticators.
import { generateKeyPairSync } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import type {
  AuthenticationV1TokenRequest,
  V1Node,
  V1Pod,
  V1Secret,
  V1ServiceAccount,
} from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { clientCertificate } from '../../../../src/apiserver/auth/clientCertificate.js';
import {
  makeServiceAccountTokenAuthenticator,
  makeTokenVerifier,
} from '../../../../src/apiserver/auth/serviceAccountToken.js';
import { jsonWebKeySet, readVerificationKey } from '../../../../src/apiserver/auth/signingKey.js';
import { makeStaticTokenAuthenticator } from '../../../../src/apiserver/auth/staticToken.js';
import { makeTokenIssuer } from '../../../../src/apiserver/auth/tokenIssuer.js';
import { makeUnionAuthenticator } from '../../../../src/apiserver/auth/union.js';
import { parseUserFile } from '../../../../src/apiserver/auth/userFile.js';

const pem = { type: 'pkcs8', format: 'pem' } as const;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pem).toString();
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pem).toString();
const START = Date.parse('2030-01-01T00:00:00Z');
const account = { metadata: { name: 'bot', namespace: 'ns', uid: 'sa-1' } } as Stored<V1ServiceAccount>;
const pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'pod-1' },
  spec: { serviceAccountName: 'bot' },
} as Stored<V1Pod>;

const secret = { metadata: { name: 's', namespace: 'ns', uid: 'secret-1' } } as Stored<V1Secret>;

function setUp({
  privateKeyPem = ec,
  saUid = 'sa-1',
  podUid = 'pod-1' as string | undefined,
  secretUid = 'secret-1',
  nodeUid = 'node-1' as string | undefined,
  deletionTimestamp = undefined as string | undefined,
} = {}) {
  const living = (uid: string | undefined) => async () =>
    uid === undefined ? undefined : { metadata: { uid, deletionTimestamp } };
  let now = START;
  const issuer = makeTokenIssuer({
    privateKeyPem,
    issuer: 'https://k',
    audiences: ['https://k'],
    now: () => now,
  });
  const verifier = makeTokenVerifier({
    keys: [readVerificationKey(privateKeyPem)],
    issuers: ['https://k'],
    now: () => now,
    lookups: {
      serviceAccount: living(saUid),
      pod: living(podUid),
      secret: living(secretUid),
      node: living(nodeUid),
    },
  });
  const own = makeServiceAccountTokenAuthenticator(verifier, ['https://k']);
  const union = makeUnionAuthenticator({ authenticators: [clientCertificate, own], allowAnonymous: true });
  const login = (token: string) => union.authenticate({ authorization: `Bearer ${token}` });
  return { issuer, verifier, login, union, pass: (seconds: number) => (now += seconds * 1000) };
}
const boundToPod = { spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'pod-1' } } };

describe.each([
  ['ES256', ec],
  ['RS256', rsa],
])('a token signed with %s', (algorithm, privateKeyPem) => {
  test('authenticates as its service account, with the pod as an extra', async () => {
    const { issuer, login } = setUp({ privateKeyPem });
    const { token, expirationTimestamp } = await issuer.issue(boundToPod, account, {
      pod,
      node: { name: 'n1' },
    });
    expect(expirationTimestamp).toBe('2030-01-01T01:00:00Z');
    expect(decodeProtectedHeader(token)).toEqual({ alg: algorithm, kid: issuer.key.keyId });
    expect(decodeJwt(token)['kubernetes.io']).toEqual({
      namespace: 'ns',
      node: { name: 'n1' },
      pod: { name: 'p', uid: 'pod-1' },
      serviceaccount: { name: 'bot', uid: 'sa-1' },
    });
    expect(await login(token)).toMatchObject({
      name: 'system:serviceaccount:ns:bot',
      uid: 'sa-1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
      extra: {
        'authentication.kubernetes.io/pod-name': ['p'],
        'authentication.kubernetes.io/pod-uid': ['pod-1'],
        'authentication.kubernetes.io/node-name': ['n1'],
      },
    });
  });
});

describe('a token is refused without a reason', () => {
  const refused = { message: 'Unauthorized', code: 401 };
  test('after its time', async () => {
    const { issuer, login, pass } = setUp();
    const { token } = await issuer.issue({ spec: { expirationSeconds: 600 } }, account);
    pass(599);
    await expect(login(token)).resolves.toBeDefined();
    pass(2);
    await expect(login(token)).rejects.toMatchObject(refused);
  });
  test('when a new account has the name', async () => {
    const { token } = await setUp().issuer.issue({}, account);
    await expect(setUp({ saUid: 'sa-2' }).login(token)).rejects.toMatchObject(refused);
  });
  test('when its pod is gone', async () => {
    const { token } = await setUp().issuer.issue(boundToPod, account, { pod });
    await expect(setUp({ podUid: '' }).login(token)).rejects.toMatchObject(refused);
  });

  test('dies with the Secret that holds it', async () => {
    const boundObjectRef = { kind: 'Secret', apiVersion: 'v1', name: 's', uid: 'secret-1' };
    const { issuer, login } = setUp();
    const { token } = await issuer.issue(
      { spec: { boundObjectRef } } as AuthenticationV1TokenRequest,
      account,
      { secret },
    );
    expect((await login(token))?.name).toBe('system:serviceaccount:ns:bot');
    await expect(setUp({ secretUid: 'secret-2' }).login(token)).rejects.toMatchObject({ code: 401 });
  });
  test('dies with the node that it is bound to', async () => {
    const boundObjectRef = { kind: 'Node', apiVersion: 'v1', name: 'n1', uid: 'node-1' };
    const { issuer, login } = setUp();
    const boundNode = { metadata: { name: 'n1', uid: 'node-1' } } as Stored<V1Node>;
    const { token } = await issuer.issue({ spec: { boundObjectRef } }, account, { boundNode });
    expect(decodeJwt(token)['kubernetes.io']).toEqual({
      namespace: 'ns',
      node: { name: 'n1', uid: 'node-1' },
      serviceaccount: { name: 'bot', uid: 'sa-1' },
    });
    expect((await login(token))?.extra).toMatchObject({
      'authentication.kubernetes.io/node-name': ['n1'],
      'authentication.kubernetes.io/node-uid': ['node-1'],
    });
    for (const nodeUid of ['node-2', ''])
      await expect(setUp({ nodeUid }).login(token)).rejects.toMatchObject(refused);
  });
  test.each([
    ['account', {}, undefined],
    ['pod', boundToPod, { pod }],
  ] as const)(
    'a minute after the deletion of its %s, whatever finalizers hold',
    async (_, request, bound) => {
      const deletionTimestamp = new Date(START).toISOString();
      const { issuer, login, pass } = setUp({ deletionTimestamp });
      const { token } = await issuer.issue(request, account, bound);
      pass(59);
      await expect(login(token)).resolves.toBeDefined();
      pass(2);
      await expect(login(token)).rejects.toMatchObject(refused);
    },
  );
  test('for audiences that read like its own when put together', async () => {
    const { issuer, verifier } = setUp();
    const { token } = await issuer.issue({ spec: { audiences: ['a', 'b'] } }, account);
    await expect(verifier.verify(token, ['a', 'b'])).resolves.toMatchObject({ audiences: ['a', 'b'] });
    await expect(verifier.verify(token, ['a b'])).rejects.toThrow();
  });
  test('for another audience', async () => {
    const { issuer, login } = setUp();
    const { token } = await issuer.issue({ spec: { audiences: ['vault'] } }, account);
    await expect(login(token)).rejects.toMatchObject(refused);
  });
  test('signed by another key', async () => {
    const { token } = await setUp({ privateKeyPem: rsa }).issuer.issue({}, account);
    await expect(setUp().login(token)).rejects.toMatchObject(refused);
  });
  test('with no signature, or one made from the public key as a password', async () => {
    const { login, issuer } = setUp();
    const { token } = await issuer.issue({}, account);
    const [, payload] = token.split('.');
    const header = Buffer.from(JSON.stringify({ alg: 'none', kid: issuer.key.keyId })).toString('base64url');
    await expect(login(`${header}.${payload}.`)).rejects.toMatchObject(refused);
    const forged = await new SignJWT(decodeJwt(token))
      .setProtectedHeader({ alg: 'HS256', kid: issuer.key.keyId })
      .sign(
        new TextEncoder().encode(issuer.key.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
      );
    await expect(login(forged)).rejects.toMatchObject(refused);
  });
  test.each(['nonsense', 'a.b.c', '..', `${'x'.repeat(9000)}`])('when it is %.20s', async (token) => {
    await expect(setUp().login(token)).rejects.toMatchObject(refused);
  });
});

describe('the issuer', () => {
  const cases: readonly [string, object, string][] = [
    [
      'under ten minutes',
      { spec: { expirationSeconds: 599 } },
      'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    ],
    [
      'over 2^32 seconds',
      { spec: { expirationSeconds: 2 ** 33 } },
      'may not specify a duration larger than 2^32 seconds',
    ],
    [
      'a pod of another uid',
      { spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'old' } } },
      'the UID in the bound object reference (old) does not match the UID in record',
    ],
    [
      'a bound object of a strange kind',
      { spec: { boundObjectRef: { kind: 'Job', apiVersion: 'v1', name: 'p' } } },
      'cannot bind token',
    ],
  ];
  test.each(cases)('refuses %s', async (_, request, message) => {
    await expect(setUp().issuer.issue(request, account, { pod })).rejects.toThrow(message);
  });
  test('refuses a pod that is not there, and a pod of another account', async () => {
    const { issuer } = setUp();
    await expect(issuer.issue(boundToPod, account)).rejects.toThrow('pods "p" not found');
    const other = { ...pod, spec: { serviceAccountName: 'other' } } as Stored<V1Pod>;
    await expect(issuer.issue(boundToPod, account, { pod: other })).rejects.toThrow(
      'different serviceaccount name',
    );
  });
  test('shows only the public half of its key', () => {
    const [shown] = jsonWebKeySet([setUp().issuer.key]).keys;
    expect(shown).toMatchObject({ kty: 'EC', use: 'sig', alg: 'ES256' });
    expect(shown).not.toHaveProperty('d');
  });
});

describe('the union', () => {
  test('takes a certificate before a token', async () => {
    const certificate = {
      commonName: 'admin',
      organizations: ['system:masters'],
      notAfterMs: Date.now() + 60_000,
      fingerprint: 'ab12',
    };
    expect(await setUp().union.authenticate({ certificate, authorization: 'Bearer nonsense' })).toEqual({
      name: 'admin',
      groups: ['system:masters', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab12'] },
    });
  });
  test('serves strangers as anonymous, or not at all', async () => {
    expect(await setUp().union.authenticate({})).toEqual({
      name: 'system:anonymous',
      groups: ['system:unauthenticated'],
    });
    const strict = makeUnionAuthenticator({ authenticators: [], allowAnonymous: false });
    await expect(strict.authenticate({})).rejects.toThrow('Unauthorized');
  });
});

describe('a token file', () => {
  test('gives users with uid and groups', async () => {
    const file = makeStaticTokenAuthenticator('# comment\nt1,jane,7,"dev,ops"\r\nt2,joe,\n');
    expect(await file.authenticate({ authorization: 'bearer t1' })).toEqual({
      name: 'jane',
      uid: '7',
      groups: ['dev', 'ops'],
    });
    expect(await file.authenticate({ authorization: 'Bearer t2' })).toEqual({ name: 'joe', groups: [] });
    expect(await file.authenticate({ authorization: 'Bearer t3' })).toBeUndefined();
  });
  test('with a bad line names the line and not the token', () => {
    expect(() => parseUserFile('a,b,c\nsecret-token', 'token')).toThrow(/line 2(?!.*secret-token)/);
  });
});
