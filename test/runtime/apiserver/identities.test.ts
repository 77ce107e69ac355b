// Who the server takes its callers for, over real connections: certificates, their ends, and tokens of every carrier.
// Guarantees: a connection that is asked about twice is the same one.
import { once } from 'node:events';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PemPair } from '../../../src/api/certificates/keyPair.js';
import type { AuthenticationV1TokenRequest, V1SelfSubjectReview } from '../../../src/api/gen/types.js';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  NAMESPACES,
  SERVICE_ACCOUNTS,
} from '../../../src/api/resources.js';
import { craftRequest, named, OID, text } from '../../support/certificateRequests.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

let api: SecuredApiServer;
beforeAll(async () => {
  api = await startSecuredApiServer();
});
afterAll(() => api.close());

const REVIEW = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });

/** A connection that asks who it is, again and again. */
async function connect(identity: Partial<PemPair>) {
  const socket = tls.connect({ host: '127.0.0.1', port: api.server.port, ca: api.pki.ca, ...identity });
  await once(socket, 'secureConnect');
  const ask = async () => {
    socket.write(
      'POST /apis/authentication.k8s.io/v1/selfsubjectreviews HTTP/1.1\r\nhost: x\r\n' +
        `content-type: application/json\r\ncontent-length: ${REVIEW.length}\r\n\r\n${REVIEW}`,
    );
    let answer = '';
    while (!/\r\n\r\n\{.*\}\s*$/s.test(answer)) answer += String((await once(socket, 'data'))[0]);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    const review = JSON.parse(body) as V1SelfSubjectReview;
    return { status: Number(head.split(' ')[1]), user: review.status?.userInfo };
  };
  return { ask, end: () => socket.destroy() };
}

const signed = async (validity: { notBefore: Date; notAfter: Date }, ...names: readonly Uint8Array[]) => {
  const { pem, key } = craftRequest(...names);
  return {
    cert: await api.pki.sign(pem, validity),
    key: key.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
};
const lasting = (ms: number) => ({
  notBefore: new Date(Date.now() - 60_000),
  notAfter: new Date(Date.now() + ms),
});

test('of several common names the last is the user, as Go reads a subject', async () => {
  const names = ['first', 'last'].map((name) => named(OID.commonName, text(name)));
  const connection = await connect(await signed(lasting(60_000), ...names));
  expect(await connection.ask()).toMatchObject({ status: 201, user: { username: 'last' } });
  connection.end();
});

test('a certificate that ends while its connection is open ends the identity', async () => {
  const connection = await connect(await signed(lasting(4_000), named(OID.commonName, text('brief'))));
  expect(await connection.ask()).toMatchObject({ status: 201, user: { username: 'brief' } });
  await until(async () => expect((await connection.ask()).status).toBe(401));
  connection.end();
});

describe('a bearer token among the subprotocols of a WebSocket', () => {
  const PREFIX = 'base64url.bearer.authorization.k8s.io.';
  let token: string;
  beforeAll(async () => {
    await api.client.of(NAMESPACES).create({ metadata: { name: 'team' } });
    const name = { name: 'bot', namespace: 'team' };
    await api.client.of(SERVICE_ACCOUNTS).create({ metadata: name });
    const answer = await api.client
      .of(SERVICE_ACCOUNTS)
      .post<AuthenticationV1TokenRequest>(name, 'token', { spec: {} });
    token = Buffer.from(answer.status?.token ?? '').toString('base64url');
  });

  /** The answer to a watch that asks for a WebSocket. */
  async function watch(protocols: string): Promise<string> {
    const socket = tls.connect({ host: '127.0.0.1', port: api.server.port, ca: api.pki.ca });
    await once(socket, 'secureConnect');
    socket.write(
      'GET /api/v1/namespaces/team/pods?watch=1 HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\n' +
        'upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n' +
        `sec-websocket-protocol: ${protocols}\r\n\r\n`,
    );
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    return Buffer.concat(pieces).toString();
  }

  test('says who asks', async () => {
    const answer = await watch(`${PREFIX}${token}, binary.k8s.io`);
    expect(answer).toContain('403 Forbidden');
    expect(answer).toContain('system:serviceaccount:team:bot');
  });
  test.each([
    ['one that nobody knows', () => `${PREFIX}eHg, binary.k8s.io`],
    ['one that is not base64url', () => `${PREFIX}!, binary.k8s.io`],
    ['two of them', () => `${PREFIX}${token}, ${PREFIX}${token}, binary.k8s.io`],
    ['nothing beside it', () => `${PREFIX}${token}`],
  ])('is refused: %s', async (_, protocols) => {
    expect(await watch(protocols())).toContain('401 Unauthorized');
  });
});

test('only names that an account can have are accounts to who impersonates', async () => {
  const rules = [{ apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] }];
  const metadata = { name: 'as-accounts' };
  await api.client.of(CLUSTER_ROLES).create({ metadata, rules });
  await api.client.of(CLUSTER_ROLE_BINDINGS).create({
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'as-accounts' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'actor' }],
  });
  const transport = api.server.inProcess({ name: 'actor', groups: ['system:authenticated'] });
  const as = async (user: string) => {
    const headers = { 'impersonate-user': user, 'content-type': 'application/json' };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    return (await transport.request({ method: 'POST', path, headers, body: REVIEW })).status;
  };
  await until(async () => expect(await as('system:serviceaccount:kube-system:x')).toBe(201));
  for (const user of ['kube-system/..:x', 'kube-system:X', 'kube-system:a/b', 'a.b:x'])
    expect(await as(`system:serviceaccount:${user}`)).toBe(403);
  transport.close();
});
