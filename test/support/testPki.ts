// A certificate authority for one test, and the certificates it signs for loopback servers and clients.
// Guarantees: keys exist in memory only; a certificate began a minute ago and holds for an hour, unless it is told otherwise.
import 'reflect-metadata'; // before x509, which reads it while loading
import * as x509 from '@peculiar/x509';
import {
  hostNames,
  newKeyPair,
  P256,
  type PemPair,
  pemPair,
  serialNumber,
} from '../../src/api/certificates/keyPair.js';

const SUBJECT_ALT_NAME = '2.5.29.17';

interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface TestPki {
  readonly ca: string;
  readonly caKey: string;
  /** For 127.0.0.1 and localhost. */
  server(): Promise<PemPair>;
  client(commonName: string, ...organizations: string[]): Promise<PemPair>;
  /** Signs a request in PEM as it asks, names and all; answers PEM. */
  sign(request: string, validity?: Validity): Promise<string>;
}

let made = 0;

/** Each has a name of its own: one of the same name would be taken for the other, and its signatures for forged ones. */
export async function makeTestPki(): Promise<TestPki> {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const caKeys = await newKeyPair();
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [`test-ca-${++made}`] }],
    keys: caKeys,
    signingAlgorithm: P256,
    ...validity,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const { cert: ca, key: caKey } = await pemPair(authority, caKeys);
  const certify = (
    leaf: Pick<x509.X509CertificateCreateParams, 'subject' | 'publicKey' | 'extensions'> & Partial<Validity>,
  ) =>
    x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      issuer: authority.subject,
      signingKey: caKeys.privateKey,
      signingAlgorithm: P256,
      ...validity,
      ...leaf,
    });
  const issue = async (subject: x509.JsonName, extensions: x509.Extension[]): Promise<PemPair> => {
    const keys = await newKeyPair();
    return pemPair(await certify({ subject, publicKey: keys.publicKey, extensions }), keys);
  };
  return {
    ca,
    caKey,
    server: () =>
      issue(
        [{ CN: ['localhost'] }],
        [
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
          ...hostNames(['127.0.0.1', 'localhost']),
        ],
      ),
    client: (commonName, ...organizations) =>
      issue(
        [...organizations.map((one) => ({ O: [one] })), { CN: [commonName] }],
        [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])],
      ),
    async sign(request, lasts = validity) {
      const asked = new x509.Pkcs10CertificateRequest(request);
      const names = asked.getExtension(SUBJECT_ALT_NAME);
      const { subject, publicKey } = asked;
      const extensions = names === null ? [] : [names];
      return `${(await certify({ subject, publicKey, extensions, ...lasts })).toString('pem')}\n`;
    },
  };
}
