// Who may call.
// Guarantees: reviews say what Kubernetes' would, are kept for their time, and a failure lets nobody in.
import { expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import { bearerOf } from '../../../../src/client/delegatedAccess.js';
import { makeAccess } from '../../../../src/kubelet/server/access.js';
import { FakeApi } from '../../../support/fakeApi.js';

function scene(answer: (path: string, body: unknown) => unknown) {
  const client = new FakeApi();
  client.answer = answer;
  const clock = { ms: 0 };
  const access = makeAccess({ client, nodeName: 'n1', log: silentLog, now: () => clock.ms });
  return { client, clock, access };
}
const eve = { user: 'eve', groups: ['g'] };
const token = (bearer: string) => ({ certificate: undefined, bearer });
const known = () => ({ status: { authenticated: true, user: { username: 'eve', groups: ['g'], uid: '7' } } });

test('a certificate is enough; nothing is nobody', async () => {
  const { access, client } = scene(() => ({}));
  expect(await access.authenticate({ certificate: eve, bearer: undefined })).toEqual(eve);
  expect(await access.authenticate({ certificate: undefined, bearer: undefined })).toBeUndefined();
  expect(client.posted).toEqual([]);
});

test('a token is reviewed, once for two minutes', async () => {
  const { access, client, clock } = scene(known);
  const twice = [access.authenticate(token('t')), access.authenticate(token('t'))];
  expect(await Promise.all(twice)).toEqual([
    { user: 'eve', groups: ['g'], uid: '7' },
    { user: 'eve', groups: ['g'], uid: '7' },
  ]);
  expect(client.posted).toHaveLength(1);
  expect(client.posted[0]).toMatchObject({
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: { kind: 'TokenReview', spec: { token: 't' } },
  });
  clock.ms = 2 * 60 * 1000;
  await access.authenticate(token('t'));
  expect(client.posted).toHaveLength(2);
});

test('a token that is unknown, or cannot be reviewed, is nobody', async () => {
  expect(await scene(() => ({ status: {} })).access.authenticate(token('t'))).toBeUndefined();
  expect(
    await scene(() => Promise.reject(new Error('away'))).access.authenticate(token('t')),
  ).toBeUndefined();
});

test('rights are asked for by node and subresource, kept five minutes if given and half a minute if not', async () => {
  let allowed = true;
  const { access, client, clock } = scene(() => ({ status: { allowed } }));
  const ask = () => access.authorize(eve, { verb: 'get', subresources: ['proxy'] });
  expect(await ask()).toBe(true);
  expect(client.posted[0]).toMatchObject({
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: {
      spec: {
        user: 'eve',
        groups: ['g'],
        resourceAttributes: {
          verb: 'get',
          version: 'v1',
          resource: 'nodes',
          subresource: 'proxy',
          name: 'n1',
        },
      },
    },
  });
  allowed = false;
  clock.ms = 5 * 60 * 1000 - 1;
  expect(await ask()).toBe(true);
  clock.ms += 1;
  expect(await ask()).toBe(false);
  allowed = true;
  clock.ms += 30 * 1000 - 1;
  expect(await ask()).toBe(false);
  clock.ms += 1;
  expect(await ask()).toBe(true);
});

test('the finer right is asked first, the wider one then; no verb is no right', async () => {
  const { access, client } = scene((_, body) => {
    const { spec } = body as { spec: { resourceAttributes: { subresource: string } } };
    return { status: { allowed: spec.resourceAttributes.subresource === 'proxy' } };
  });
  expect(await access.authorize(eve, { verb: 'get', subresources: ['pods', 'proxy'] })).toBe(true);
  expect(client.posted).toHaveLength(2);
  expect(await access.authorize(eve, { verb: '', subresources: ['proxy'] })).toBe(false);
});

test('a right that cannot be asked for is an error, and asked for again', async () => {
  let away = true;
  const { access } = scene(() => (away ? Promise.reject(new Error('away')) : { status: { allowed: true } }));
  const ask = () => access.authorize(eve, { verb: 'get', subresources: ['proxy'] });
  await expect(ask()).rejects.toThrow('away');
  away = false;
  expect(await ask()).toBe(true);
});

test.each([
  ['Bearer abc', 'abc'],
  ['bearer  abc ', 'abc'],
  ['Basic abc', undefined],
  ['Bearer', undefined],
  [undefined, undefined],
])('the header %j', (header, want) => {
  expect(bearerOf(header)).toBe(want);
});
