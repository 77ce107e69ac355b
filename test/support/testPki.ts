// A certificate authority for one test, and the certificates it signs for loopback servers and clients.
import { webcrypto } from 'node:crypto';
import 'reflect-metadata'; // before x509, which reads it while loading
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

const SUBJECT_ALT_NAME = '2.5.29.17';

export interface TestIdentity {
  readonly cert: string;
  readonly key: string;
}

export interface TestPki {
  readonly ca: string;
  readonly caKey: string;
  server(): Promise<TestIdentity>;
  client(commonName: string, ...organizations: string[]): Promise<TestIdentity>;
  /** Signs a request in PEM as it asks, names and all; answers PEM. */
  sign(request: string, validity?: { readonly notBefore: Date; readonly notAfter: Date }): Promise<string>;
}

export async function makeTestPki(): Promise<TestPki> {
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const caKeys = await newKeys();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=test-ca',
    keys: caKeys,
    signingAlgorithm: ALGORITHM,
    ...validity,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  let serial = 1;
  const sign = async (subject: string, extensions: x509.Extension[]): Promise<TestIdentity> => {
    const keys = await newKeys();
    serial += 1;
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serial.toString(16).padStart(4, '0'),
      subject,
      issuer: ca.subject,
      publicKey: keys.publicKey,
      signingKey: caKeys.privateKey,
      signingAlgorithm: ALGORITHM,
      ...validity,
      extensions,
    });
    return { cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
  };
  return {
    ca: ca.toString('pem'),
    caKey: await pemOf(caKeys.privateKey),
    server: () =>
      sign('CN=server', [
        new x509.SubjectAlternativeNameExtension([
          { type: 'ip', value: '127.0.0.1' },
          { type: 'dns', value: 'localhost' },
        ]),
      ]),
    client: (commonName, ...organizations) =>
      sign([`CN=${commonName}`, ...organizations.map((one) => `O=${one}`)].join(', '), []),
    async sign(request, lasts = validity) {
      const asked = new x509.Pkcs10CertificateRequest(request);
      const names = asked.getExtension(SUBJECT_ALT_NAME);
      serial += 1;
      const certificate = await x509.X509CertificateGenerator.create({
        serialNumber: serial.toString(16).padStart(4, '0'),
        subject: asked.subject,
        issuer: ca.subject,
        publicKey: asked.publicKey,
        signingKey: caKeys.privateKey,
        signingAlgorithm: ALGORITHM,
        ...lasts,
        extensions: names === null ? [] : [names],
      });
      return `${certificate.toString('pem')}\n`;
    },
  };
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const der = await webcrypto.subtle.exportKey('pkcs8', key);
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return ['-----BEGIN PRIVATE KEY-----', ...lines, '-----END PRIVATE KEY-----', ''].join('\n');
}
