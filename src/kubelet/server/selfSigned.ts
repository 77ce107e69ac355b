// The serving certificate of a kubelet that was given none: signed by itself, kept for the next start.
// Guarantees: the key is readable by root alone; a pair that is there and has a month left is used again.
import 'reflect-metadata';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as x509 from '@peculiar/x509';
import {
  hostNames,
  newKeyPair,
  P256,
  type PemPair,
  pemPair,
  serialNumber,
} from '../../api/certificates/keyPair.js';

const DAY_MS = 86_400_000;

export async function selfSigned(options: {
  readonly directory: string;
  readonly nodeName: string;
  readonly addresses: readonly string[];
  readonly now: number;
}): Promise<PemPair> {
  const { directory, now } = options;
  const files = { cert: path.join(directory, 'kubelet.crt'), key: path.join(directory, 'kubelet.key') };
  const kept = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]).catch(
    () => undefined,
  ); // none yet
  if (kept !== undefined && new x509.X509Certificate(kept[0]).notAfter.getTime() > now + 30 * DAY_MS)
    return { cert: kept[0], key: kept[1] };
  const made = await make(options);
  await mkdir(directory, { recursive: true, mode: 0o750 });
  await writeFile(files.key, made.key, { mode: 0o600 });
  await writeFile(files.cert, made.cert, { mode: 0o644 });
  return made;
}

async function make({ nodeName, addresses, now }: Parameters<typeof selfSigned>[0]) {
  const keys = await newKeyPair();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: new x509.Name([{ CN: [`${nodeName}@${Math.floor(now / 1000)}`] }]).toString(),
    notBefore: new Date(now - DAY_MS),
    notAfter: new Date(now + 365 * DAY_MS),
    keys,
    signingAlgorithm: P256,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      ...hostNames([nodeName, ...addresses]),
    ],
  });
  return await pemPair(certificate, keys);
}
