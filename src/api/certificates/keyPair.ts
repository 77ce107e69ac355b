// Key pairs as all our certificates have them, and what everyone who makes a certificate puts into it. Pure but for chance.
// Guarantees: keys are P-256; private keys are written as PKCS #8 in PEM.
import 'reflect-metadata'; // before x509, which reads it while loading
import * as x509 from '@peculiar/x509';
import { parseIp } from '../ip.js';

x509.cryptoProvider.set(crypto);

export const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** PEM. */
export interface PemPair {
  readonly cert: string;
  readonly key: string;
}

export async function newKeyPair() {
  return await crypto.subtle.generateKey(P256, true, ['sign', 'verify']);
}

type KeyPair = Awaited<ReturnType<typeof newKeyPair>>;

export async function pemPair(
  certificate: x509.X509Certificate,
  { privateKey }: Pick<KeyPair, 'privateKey'>,
): Promise<PemPair> {
  const der = await crypto.subtle.exportKey('pkcs8', privateKey);
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`,
  };
}

/** 16 random bytes, positive and without leading zeros, as RFC 5280 wants a serial number. */
export function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The names and addresses of a server; nothing for who has none. */
export function hostNames(hosts: readonly string[]): x509.Extension[] {
  if (hosts.length === 0) return [];
  const names = hosts.map((host) => ({
    type: parseIp(host) === undefined ? ('dns' as const) : ('ip' as const),
    value: host,
  }));
  return [new x509.SubjectAlternativeNameExtension(names)];
}
