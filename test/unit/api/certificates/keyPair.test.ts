// What goes into every certificate of ours, seen with the eyes of OpenSSL.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import 'reflect-metadata'; // before x509, which reads it while loading
import * as x509 from '@peculiar/x509';
import { expect, test } from 'vitest';
import {
  hostNames,
  newKeyPair,
  P256,
  pemPair,
  serialNumber,
} from '../../../../src/api/certificates/keyPair.js';

test('a serial number is positive, 16 bytes long and never the same', () => {
  const numbers = Array.from({ length: 100 }, serialNumber);
  for (const number of numbers) expect(number).toMatch(/^[4-7][0-9a-f]{31}$/);
  expect(new Set(numbers).size).toBe(100);
});

test('a pair is a certificate and the key it was made with; its hosts are names or addresses', async () => {
  const keys = await newKeyPair();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=a',
    keys,
    signingAlgorithm: P256,
    extensions: hostNames(['example.com', '10.0.0.1', 'fd00::1']),
  });
  const { cert, key } = await pemPair(certificate, keys);
  const read = new X509Certificate(cert);
  expect(read.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(read.subjectAltName).toBe('DNS:example.com, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1');
  expect([cert, key].every((pem) => pem.endsWith('-----\n'))).toBe(true);
  expect(hostNames([])).toEqual([]);
});
