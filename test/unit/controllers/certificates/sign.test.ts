// What is signed is what was read and judged, seen with the eyes of those who authenticate by it.
import { X509Certificate } from 'node:crypto';
import 'reflect-metadata'; // before x509, which reads it while loading
import * as x509 from '@peculiar/x509';
import { expect, test } from 'vitest';
import { readRequest } from '../../../../src/controllers/certificates/request.js';
import { sign } from '../../../../src/controllers/certificates/sign.js';
import { craftRequest, named, OID, text } from '../../../support/certificateRequests.js';
import { makeTestPki } from '../../../support/testPki.js';

const usages = ['client auth'];
const jane = named(OID.commonName, text('jane'));
const dev = named(OID.organization, text('dev'));

async function authority() {
  const { ca, caKey } = await makeTestPki();
  return { cert: ca, key: caKey, durationMs: 3_600_000 };
}

test('a certificate names whom its request names', async () => {
  const joan = named(OID.commonName, text('joan'));
  const request = await readRequest(craftRequest(jane, dev, joan).request);
  const pem = await sign(await authority(), { request, usages, expirationSeconds: 600, now: Date.now() });
  expect(request.asked).toMatchObject({ commonName: 'joan', organizations: ['dev'] });
  expect(new X509Certificate(pem).subject).toBe('CN=jane\nO=dev\nCN=joan');
});

test('nothing is given out whose holder would be another than was judged', async () => {
  const read = await readRequest(craftRequest(jane, dev).request);
  const ca = await authority();
  for (const change of [{ commonName: 'joan' }, { organizations: [] }, { organizations: ['dev', 'ops'] }]) {
    const request = { ...read, asked: { ...read.asked, ...change } };
    await expect(sign(ca, { request, usages, expirationSeconds: 600, now: Date.now() })).rejects.toThrow(
      RangeError,
    );
  }
});

test('names of a kind that nobody judges are left out', async () => {
  const { pkcs10, asked } = await readRequest(craftRequest(jane).request);
  const names = new x509.SubjectAlternativeNameExtension([
    { type: 'dns', value: 'a.example' },
    { type: 'id', value: '1.2.3' },
  ]);
  pkcs10.extensions.push(names);
  const request = { pkcs10, asked: { ...asked, dnsNames: ['a.example'] } };
  const pem = await sign(await authority(), { request, usages, expirationSeconds: 600, now: Date.now() });
  expect(new X509Certificate(pem).subjectAltName).toBe('DNS:a.example');
});
