// The HTTPS transport against a real TLS server: who is trusted, who we are, and what is said when it fails.

import { webcrypto } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBody } from '../../../src/client/answer.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { until } from '../../support/until.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A certificate that is its own authority, for the server and for the client alike. */
async function selfSigned(name: string) {
  const crypto = webcrypto as typeof globalThis.crypto;
  const keys = (await crypto.subtle.generateKey(ALGORITHM, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${name}`,
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true),
        new x509.SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }]),
      ],
    },
    crypto,
  );
  const key = x509.PemConverter.encode(
    await crypto.subtle.exportKey('pkcs8', keys.privateKey),
    'PRIVATE KEY',
  );
  return { cert: certificate.toString('pem'), key };
}

const CROWD = 100;

describe('the HTTPS transport', () => {
  const together: ServerResponse[] = [];
  let server: https.Server;
  let address: string;
  let folder: string;
  let authority: { cert: string; key: string };
  let person: { cert: string; key: string };

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'transport-'));
    authority = await selfSigned('server');
    person = await selfSigned('jane');
    const options = { ...authority, ca: person.cert, requestCert: true, rejectUnauthorized: false };
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
    const transport = openHttps({ server: address, ca: authority.cert, ...options });
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
    const { cert } = person;
    await expect(ask({ ca: cert })).rejects.toThrow(`cannot reach the apiserver at ${address}: `);
    expect((await ask({ ca: cert, insecureSkipTlsVerify: true })).status).toBe(200);
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
    const transport = openHttps({ server: address, ca: authority.cert });
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
    const transport = openHttps({ server: address, ca: authority.cert });
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
