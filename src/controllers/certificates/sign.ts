// Signs certificates with the cluster's authority.
// Guarantees: a certificate never outlives the authority; it holds for what was asked and for nothing else, as those read
// it who will authenticate its holder.
import 'reflect-metadata'; // before x509, which reads it while loading
import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { serialNumber } from '../../api/certificates/keyPair.js';
import { type CertificateUser, subjectUser } from '../../api/certificates/subject.js';
import type { ReadRequest, RequestedCertificate } from './request.js';

/** Clocks of others may be behind ours. */
const BACKDATE_MS = 5 * 60 * 1000;
const SHORTEST_MS = 10 * 60 * 1000;

export interface SigningAuthority {
  /** PEM. */
  readonly cert: string;
  /** PEM of any form that OpenSSL writes. */
  readonly key: string;
  /** How long certificates hold that do not ask for less. */
  readonly durationMs: number;
}

const KEY_USAGES: Readonly<Record<string, number>> = {
  signing: x509.KeyUsageFlags.digitalSignature,
  'digital signature': x509.KeyUsageFlags.digitalSignature,
  'content commitment': x509.KeyUsageFlags.nonRepudiation,
  'key encipherment': x509.KeyUsageFlags.keyEncipherment,
  'key agreement': x509.KeyUsageFlags.keyAgreement,
  'data encipherment': x509.KeyUsageFlags.dataEncipherment,
  'encipher only': x509.KeyUsageFlags.encipherOnly,
  'decipher only': x509.KeyUsageFlags.decipherOnly,
};

const EXTENDED_USAGES: Readonly<Record<string, string>> = {
  any: '2.5.29.37.0',
  'server auth': x509.ExtendedKeyUsage.serverAuth,
  'client auth': x509.ExtendedKeyUsage.clientAuth,
  'code signing': x509.ExtendedKeyUsage.codeSigning,
  'email protection': x509.ExtendedKeyUsage.emailProtection,
  's/mime': x509.ExtendedKeyUsage.emailProtection,
  timestamping: x509.ExtendedKeyUsage.timeStamping,
  'ocsp signing': x509.ExtendedKeyUsage.ocspSigning,
};

export interface SigningWish {
  readonly request: ReadRequest;
  readonly usages: readonly string[];
  readonly expirationSeconds: number | undefined;
  readonly now: number;
}

/** The PEM of the certificate. Throws RangeError when its holder would not be who was asked for. */
export async function sign(authority: SigningAuthority, wish: SigningWish): Promise<string> {
  const { pkcs10, asked } = wish.request;
  const issuer = new x509.X509Certificate(authority.cert);
  const { key, algorithm } = await importKey(authority.key);
  const ends = wish.now + lifetimeMs(authority.durationMs, wish.expirationSeconds);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: pkcs10.subjectName,
    issuer: issuer.subjectName,
    notBefore: new Date(wish.now - BACKDATE_MS),
    notAfter: new Date(Math.min(ends, issuer.notAfter.getTime())),
    publicKey: pkcs10.publicKey,
    signingKey: key,
    signingAlgorithm: algorithm,
    extensions: [
      ...usageExtensions(wish.usages),
      new x509.BasicConstraintsExtension(false, undefined, true),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...nameExtensions(asked),
    ],
  });
  const pem = `${certificate.toString('pem')}\n`;
  checkHolder(pem, asked);
  return pem;
}

/** Read as the servers read it: whatever the libraries made of the subject, nobody becomes someone else by it. */
function checkHolder(pem: string, { commonName, organizations }: CertificateUser): void {
  const holder = subjectUser(new X509Certificate(pem).toLegacyObject().subject ?? {});
  const names = ({ commonName: name, organizations: groups }: CertificateUser) =>
    JSON.stringify([name, ...groups]);
  if (names(holder) === names({ commonName, organizations })) return;
  throw new RangeError('the certificate would not name whom the csr names');
}

/** Names of other kinds are not signed: nobody has judged them. */
function nameExtensions({ dnsNames, ipAddresses, emails, uris }: RequestedCertificate): x509.Extension[] {
  const of = (type: x509.GeneralNameType, values: readonly string[]) =>
    values.map((value) => ({ type, value }));
  const names = [
    ...of('dns', dnsNames),
    ...of('ip', ipAddresses),
    ...of('email', emails),
    ...of('url', uris),
  ];
  return names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)];
}

export function lifetimeMs(longestMs: number, expirationSeconds: number | undefined): number {
  if (expirationSeconds === undefined) return longestMs;
  return Math.min(longestMs, Math.max(SHORTEST_MS, expirationSeconds * 1000));
}

function usageExtensions(usages: readonly string[]): x509.Extension[] {
  const flags = usages.reduce((sum, usage) => sum | (KEY_USAGES[usage] ?? 0), 0);
  const extended = usages.map((usage) => EXTENDED_USAGES[usage]).filter((usage) => usage !== undefined);
  return [
    ...(flags === 0 ? [] : [new x509.KeyUsagesExtension(flags, true)]),
    ...(extended.length === 0 ? [] : [new x509.ExtendedKeyUsageExtension([...new Set(extended)])]),
  ];
}

async function importKey(pem: string) {
  const key = createPrivateKey(pem);
  const der = key.export({ type: 'pkcs8', format: 'der' });
  const namedCurve = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  const algorithm =
    namedCurve === undefined
      ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
      : { name: 'ECDSA', namedCurve, hash: HASHES[namedCurve] ?? 'SHA-256' };
  return { key: await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']), algorithm };
}

const CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
  secp521r1: 'P-521',
};
const HASHES: Readonly<Record<string, string>> = { 'P-384': 'SHA-384', 'P-521': 'SHA-512' };
