// Who the server takes its callers for, over real connections: certificates, their ends, and tokens of every carrier.
// Guarantees: a connection that is asked about twice is the same one.
import { once } from 'node:events';
import tls from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { V1SelfSubjectReview } from '../../../src/api/gen/types.js';
import { craftRequest, named, OID, text } from '../../support/certificateRequests.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import type { TestIdentity } from '../../support/testPki.js';
import { until } from '../../support/until.js';

let api: SecuredApiServer;
beforeAll(async () => {
  api = await startSecuredApiServer();
});
afterAll(() => api.close());

const REVIEW = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });

/** A connection that asks who it is, again and again. */
async function connect(identity: Partial<TestIdentity>) {
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

it('of several common names the last is the user, as Go reads a subject', async () => {
  const names = ['first', 'last'].map((name) => named(OID.commonName, text(name)));
  const connection = await connect(await signed(lasting(60_000), ...names));
  expect(await connection.ask()).toMatchObject({ status: 201, user: { username: 'last' } });
  connection.end();
});

it('a certificate that ends while its connection is open ends the identity', async () => {
  const connection = await connect(await signed(lasting(4_000), named(OID.commonName, text('brief'))));
  expect(await connection.ask()).toMatchObject({ status: 201, user: { username: 'brief' } });
  await until(async () => expect((await connection.ask()).status).toBe(401));
  connection.end();
});
