// A certificate authority of our own: makes itself and issues certificates for servers and clients.
// Guarantees: keys are P-256; a leaf names its use, and a client certificate can never serve as a server's.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 24 * 60 * 60 * 1000;
const CA_DAYS = 3650;
const LEAF_DAYS = 365;

export interface Pem {
  readonly cert: string;
  readonly key: string;
}

export interface LeafOptions {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  /** Names and addresses of a server; a certificate without them is a client's. */
  readonly hosts?: readonly string[];
}

export async function makeAuthority(commonName: string, now: number): Promise<Pem> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: new x509.Name([{ CN: [commonName] }]).toString(),
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + CA_DAYS * DAY_MS),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${certificate.toString('pem')}\n`, key: await privatePem(keys.privateKey) };
}

export async function issue(authority: Pem, leaf: LeafOptions, now: number): Promise<Pem> {
  const issuer = new x509.X509Certificate(authority.cert);
  const keys = await generateKeys();
  const hosts = leaf.hosts ?? [];
  const server = hosts.length > 0;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: new x509.Name([
      ...(leaf.organizations ?? []).map((organization) => ({ O: [organization] })),
      { CN: [leaf.commonName] },
    ]).toString(),
    issuer: issuer.subject,
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + LEAF_DAYS * DAY_MS),
    publicKey: keys.publicKey,
    signingKey: await importPrivate(authority.key),
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        server ? x509.ExtendedKeyUsage.serverAuth : x509.ExtendedKeyUsage.clientAuth,
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...(server ? [new x509.SubjectAlternativeNameExtension(hosts.map(generalName))] : []),
    ],
  });
  return { cert: `${certificate.toString('pem')}\n`, key: await privatePem(keys.privateKey) };
}

function generalName(host: string): x509.GeneralName {
  return new x509.GeneralName(isIP(host) === 0 ? 'dns' : 'ip', host);
}

/** 16 random bytes, positive and without leading zeros, as RFC 5280 wants a serial number. */
function serial(): string {
  const bytes = Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)));
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`;
}

async function importPrivate(pem: string): Promise<webcrypto.CryptoKey> {
  const [der] = x509.PemConverter.decode(pem);
  if (der === undefined) throw new Error('the key of the certificate authority is not PEM');
  return await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
}
