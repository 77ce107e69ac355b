// A certificate authority of our own: makes itself and issues certificates for servers and clients.
// Guarantees: keys are P-256; a leaf names its use, and a client certificate can never serve as a server's.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import {
  hostNames,
  newKeyPair,
  P256,
  type PemPair,
  pemPair,
  serialNumber,
} from '../../api/certificates/keyPair.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const CA_DAYS = 3650;
const LEAF_DAYS = 365;

export interface LeafOptions {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  /** Names and addresses of a server; a certificate without them is a client's. */
  readonly hosts?: readonly string[];
}

export async function makeAuthority(commonName: string, now: number): Promise<PemPair> {
  const keys = await newKeyPair();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: new x509.Name([{ CN: [commonName] }]).toString(),
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + CA_DAYS * DAY_MS),
    keys,
    signingAlgorithm: P256,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return await pemPair(certificate, keys);
}

export async function issue(authority: PemPair, leaf: LeafOptions, now: number): Promise<PemPair> {
  const issuer = new x509.X509Certificate(authority.cert);
  const keys = await newKeyPair();
  const hosts = leaf.hosts ?? [];
  const server = hosts.length > 0;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: new x509.Name([
      ...(leaf.organizations ?? []).map((organization) => ({ O: [organization] })),
      { CN: [leaf.commonName] },
    ]).toString(),
    issuer: issuer.subject,
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + LEAF_DAYS * DAY_MS),
    publicKey: keys.publicKey,
    signingKey: await importPrivate(authority.key),
    signingAlgorithm: P256,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        server ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth,
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...hostNames(hosts),
    ],
  });
  return await pemPair(certificate, keys);
}

async function importPrivate(pem: string): Promise<webcrypto.CryptoKey> {
  const [der] = x509.PemConverter.decode(pem);
  if (der === undefined) throw new Error('the key of the certificate authority is not PEM');
  return await webcrypto.subtle.importKey('pkcs8', der, P256, false, ['sign']);
}
