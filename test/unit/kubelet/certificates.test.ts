// When a certificate is due, whom it names, and that a new one is used at once.
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { openHttps } from '../../../src/client/httpTransport.js';
import { covers, rotationDeadline } from '../../../src/kubelet/certificates/certificateManager.js';
import { makeRotatingTransport } from '../../../src/kubelet/certificates/rotatingTransport.js';
import { makeTestPki } from '../../support/testPki.js';

test('a certificate is due between 70 and 90 percent of its life', async () => {
  const { cert } = await (await makeTestPki()).server();
  const earliest = rotationDeadline(cert, 0);
  const latest = rotationDeadline(cert, 1);
  // Of 61 minutes, one of which is over when it is made.
  expect((latest - earliest) / 60_000).toBeCloseTo(61 * 0.2, 1);
  expect(earliest).toBeGreaterThan(Date.now() + 40 * 60_000);
});

test.each([
  [['127.0.0.1', 'localhost'], true],
  [['localhost', '10.0.0.1'], false],
  [['node-1'], false],
  [[], true],
])('a certificate of localhost covers %j: %s', async (hosts, expected) => {
  expect(covers((await (await makeTestPki()).server()).cert, hosts)).toBe(expected);
});

test('after an exchange every request shows the new certificate, and a body under way ends', async () => {
  const pki = await makeTestPki();
  const server = https.createServer(
    { ...(await pki.server()), ca: pki.ca, requestCert: true },
    (request, response) => {
      const name = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
      if (request.url === '/watch') response.writeHead(200).write(name);
      else response.end(name);
    },
  );
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const as = async (user: string) => openHttps({ server: url, ca: pki.ca, ...(await pki.client(user)) });
  const transport = makeRotatingTransport(await as('old'));
  const ask = async (path: string) => (await transport.request({ method: 'GET', path })).body;
  const textOf = async (body: AsyncIterable<Uint8Array>) => {
    let text = '';
    for await (const piece of body) text += Buffer.from(piece).toString();
    return text;
  };
  try {
    expect(await textOf(await ask('/'))).toBe('old');
    const watch = await ask('/watch');
    transport.exchange(await as('new'));
    await expect(textOf(watch)).rejects.toMatchObject({ code: 'UNREACHABLE' });
    expect(await textOf(await ask('/'))).toBe('new');
  } finally {
    transport.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});
