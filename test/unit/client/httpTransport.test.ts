// The HTTPS transport against a real TLS server: who is trusted, who we are, and what is said when it fails.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PemPair } from '../../../src/api/certificates/keyPair.js';
import { readBody } from '../../../src/client/answer.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { makeTestPki, type TestPki } from '../../support/testPki.js';
import { until } from '../../support/until.js';

const CROWD = 100;

describe('the HTTPS transport', () => {
  const together: ServerResponse[] = [];
  let server: https.Server;
  let address: string;
  let folder: string;
  let pki: TestPki;
  let people: TestPki;
  let person: PemPair;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'transport-'));
    pki = await makeTestPki();
    people = await makeTestPki();
    person = await people.client('jane');
    const options = {
      ...(await pki.server()),
      ca: people.ca,
      requestCert: true,
      rejectUnauthorized: false,
    };
    server = https.createServer(options, (request, response) => {
      const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject ?? {};
      if (request.url === '/hang') return;
      if (request.url === '/together') {
        if (together.push(response) === CROWD) for (const one of together) one.end('{}');
        return;
      }
      if (request.url === '/cut') return void response.write('half', () => response.destroy());
      response.setHeader('X-Thing', 'v');
      response.end(JSON.stringify({ url: request.url, user: CN, token: request.headers.authorization }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });

  const ask = async (options: Partial<Parameters<typeof openHttps>[0]>, target = '/x?y=1') => {
    const transport = openHttps({ server: address, ca: pki.ca, ...options });
    try {
      const response = await transport.request({ method: 'GET', path: target });
      return { ...response, body: JSON.parse(String(await readBody(response))) };
    } finally {
      transport.close();
    }
  };

  test('trusts its authority and shows its certificate', async () => {
    const { status, headers, body } = await ask(person);
    expect([status, headers['x-thing'], body.url, body.user]).toEqual([200, 'v', '/x?y=1', 'jane']);
  });

  test('sends a token, given or from a file, and keeps a path in the address', async () => {
    expect((await ask({ token: 't1' })).body.token).toBe('Bearer t1');
    const tokenFile = path.join(folder, 'token');
    await writeFile(tokenFile, 't2\n');
    const { body } = await ask({ token: 't1', tokenFile, server: `${address}/base/` });
    expect([body.token, body.url]).toEqual(['Bearer t2', '/base/x?y=1']);
    await expect(ask({ tokenFile: path.join(folder, 'none') })).rejects.toMatchObject({ code: 'CONFIG' });
  });

  test('does not talk to a server it cannot trust, unless told to', async () => {
    const { ca } = people;
    await expect(ask({ ca })).rejects.toThrow(`cannot reach the apiserver at ${address}: `);
    expect((await ask({ ca, insecureSkipTlsVerify: true })).status).toBe(200);
  });

  test('says that nobody listens', async () => {
    const free = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => free.once('listening', resolve));
    const target = `https://127.0.0.1:${(free.address() as AddressInfo).port}`;
    await new Promise((resolve) => free.close(resolve));
    await expect(ask({ server: target })).rejects.toThrow(
      `cannot reach the apiserver at ${target}: connection refused`,
    );
    expect(() => openHttps({ server: 'localhost:6443' })).toThrow('is not the address of an apiserver');
  });

  test('an answer that is cut off is an error, not a short answer', async () => {
    await expect(ask({}, '/cut')).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  test('keeps some connections after a burst, and closes the rest', async () => {
    const transport = openHttps({ server: address, ca: pki.ca });
    const open = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
    const answers = Array.from({ length: CROWD }, async () =>
      readBody(await transport.request({ method: 'GET', path: '/together' })),
    );
    // Nobody is answered before all are there, so each has a connection of its own.
    await Promise.all(answers);
    await until(async () => expect(await open()).toBeLessThanOrEqual(64));
    expect(await open()).toBeGreaterThan(0);
    transport.close();
  });

  test('an aborted signal ends a request that waits', async () => {
    const transport = openHttps({ server: address, ca: pki.ca });
    const stop = new AbortController();
    const waiting = transport.request({ method: 'GET', path: '/hang', signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' });
    const again = transport.request({ method: 'GET', path: '/x', signal: stop.signal });
    await expect(again).rejects.toMatchObject({ code: 'ABORTED' });
    transport.close();
    await expect(transport.request({ method: 'GET', path: '/x' })).rejects.toMatchObject({ code: 'CLOSED' });
  });
});
