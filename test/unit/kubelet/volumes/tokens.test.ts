// Bound tokens.
// Guarantees: asked for with the pod's name on them, kept, renewed in time, and used while a renewal fails.
import { expect, test } from 'vitest';
import { renewalTime, TokenManager } from '../../../../src/kubelet/volumes/tokens.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { podWith } from '../../../support/kubelet/podparts.js';

function scene() {
  const client = new FakeApi();
  const clock = { ms: 0 };
  let count = 0;
  client.answer = () => ({
    spec: { expirationSeconds: 1000 },
    status: { token: `t${++count}`, expirationTimestamp: new Date(clock.ms + 1_000_000).toISOString() },
  });
  const tokens = new TokenManager({ client, now: () => clock.ms, random: () => 0 });
  return { client, clock, tokens, pod: podWith({ serviceAccountName: 'robot' }) };
}

test('the request names account, audience and pod', async () => {
  const { client, tokens, pod } = scene();
  await tokens.token(pod, { audience: 'vault', expirationSeconds: 1000 });
  expect(client.posted).toEqual([
    {
      path: 'serviceaccounts/shop/robot/token',
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {
          audiences: ['vault'],
          expirationSeconds: 1000,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: pod.metadata.uid },
        },
      },
    },
  ]);
});

test('kept until four fifths of its life are over', async () => {
  const { clock, tokens, pod } = scene();
  expect(await tokens.token(pod, {})).toBe('t1');
  clock.ms = 799_999;
  expect(await tokens.token(pod, {})).toBe('t1');
  clock.ms = 800_000;
  expect(await tokens.token(pod, {})).toBe('t2');
});

test('two who ask at once share one request; another audience has its own', async () => {
  const { client, tokens, pod } = scene();
  const all = [tokens.token(pod, {}), tokens.token(pod, {}), tokens.token(pod, { audience: 'x' })];
  expect(await Promise.all(all)).toEqual(['t1', 't1', 't2']);
  expect(client.posted).toHaveLength(2);
});

test('while a renewal fails, a token that still works is used; afterwards the failure is told', async () => {
  const { client, clock, tokens, pod } = scene();
  await tokens.token(pod, {});
  client.answer = () => Promise.reject(new Error('away'));
  clock.ms = 900_000;
  expect(await tokens.token(pod, {})).toBe('t1');
  clock.ms = 1_000_000;
  await expect(tokens.token(pod, {})).rejects.toThrow('failed to fetch token: away');
});

test('forgotten with the pod', async () => {
  const { tokens, pod } = scene();
  await tokens.token(pod, {});
  tokens.forget(pod.metadata.uid);
  expect(await tokens.token(pod, {})).toBe('t2');
});

test('a long life is renewed after a day, jitter makes it earlier', () => {
  const day = 24 * 3600 * 1000;
  expect(renewalTime({ expiresMs: 10 * day, lifeMs: 10 * day, random: 0 })).toBe(day);
  expect(renewalTime({ expiresMs: 10 * day, lifeMs: 10 * day, random: 0.5 })).toBe(day - 5000);
});
