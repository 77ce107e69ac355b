// A certificate authority for tests: servers and clients that one another may or may not trust.
// Guarantees: keys exist in memory only.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

export interface PemPair {
  readonly cert: string;
  readonly key: string;
}

export interface TestAuthority {
  readonly cert: string;
  /** For 127.0.0.1 and localhost. */
  server(): Promise<PemPair>;
  client(user: string, groups?: readonly string[]): Promise<PemPair>;
}

export async function makeAuthority(name = 'test-ca'): Promise<TestAuthority> {
  const keys = await makeKeys();
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: [{ CN: [name] }],
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  let serial = 1;
  const sign = async (subject: x509.JsonName, extensions: x509.Extension[]): Promise<PemPair> => {
    const own = await makeKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: (++serial).toString(16).padStart(2, '0'),
      subject,
      issuer: authority.subject,
      ...validity,
      signingAlgorithm: ALGORITHM,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      extensions,
    });
    const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
    return { cert: certificate.toString('pem'), key: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY') };
  };
  return {
    cert: authority.toString('pem'),
    server: () =>
      sign(
        [{ CN: ['localhost'] }],
        [
          new x509.ExtendedKeyUsageExtension([SERVER_AUTH]),
          new x509.SubjectAlternativeNameExtension([
            { type: 'ip', value: '127.0.0.1' },
            { type: 'dns', value: 'localhost' },
          ]),
        ],
      ),
    client: (user, groups = []) =>
      sign(
        [...groups.map((group) => ({ O: [group] })), { CN: [user] }],
        [new x509.ExtendedKeyUsageExtension([CLIENT_AUTH])],
      ),
  };
}

const makeKeys = () =>
  webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']) as Promise<CryptoKeyPair>;
type CryptoKeyPair = webcrypto.CryptoKeyPair;
