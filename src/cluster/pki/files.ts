// The cluster's certificates and keys as files: made when missing, renewed when they near their end or their hosts change.
// Guarantees: keys are readable by root alone; the authority and the signing key are never made anew by themselves: where a part
// of them is missing or does not fit, the start is refused; a start that was killed while it made them is finished.
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFile, rename } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import type { PemPair } from '../../api/certificates/keyPair.js';
import { KUBELET_CLIENTS } from '../../apiserver/auth/defaults/trellisRoles.js';
import { ClusterError } from '../error.js';
import { makePrivateDir, readIfThere, writePrivate } from '../files.js';
import type { LeafOptions } from './authority.js';

const REGISTRY_HOSTS = ['127.0.0.1', 'localhost'];
const RENEW_BEFORE_MS = 30 * 24 * 60 * 60 * 1000;

interface PkiOptions {
  readonly dir: string;
  readonly nodeName: string;
  /** Addresses and names under which the apiserver is reached. */
  readonly apiserverHosts: readonly string[];
  readonly nodeHosts: readonly string[];
  readonly now: number;
}

export interface Pki {
  readonly ca: PemPair;
  readonly apiserver: PemPair;
  readonly apiserverKubeletClient: PemPair;
  readonly admin: PemPair;
  readonly kubelet: PemPair;
  readonly kubeletServer: PemPair;
  readonly registry: PemPair;
  /** Signs service account tokens; PKCS #8. */
  readonly serviceAccountKey: string;
}

function leaves(options: PkiOptions) {
  return {
    apiserver: { commonName: 'kube-apiserver', hosts: options.apiserverHosts },
    apiserverKubeletClient: {
      commonName: 'kube-apiserver-kubelet-client',
      organizations: [KUBELET_CLIENTS],
    },
    admin: { commonName: 'kubernetes-admin', organizations: ['system:masters'] },
    kubelet: { commonName: `system:node:${options.nodeName}`, organizations: ['system:nodes'] },
    kubeletServer: {
      commonName: `system:node:${options.nodeName}`,
      organizations: ['system:nodes'],
      hosts: options.nodeHosts,
    },
    registry: { commonName: 'trellis-registry', hosts: REGISTRY_HOSTS },
  } satisfies Record<string, LeafOptions>;
}

type LeafName = keyof ReturnType<typeof leaves>;

export async function ensurePki(options: PkiOptions): Promise<Pki> {
  await makePrivateDir(options.dir);
  // Before the authority: a cluster that has one has this key too.
  const serviceAccountKey = await ensureSigningKey(options.dir);
  const ca = await ensureAuthority(options, 'ca', 'trellis-ca');
  const entries = Object.entries(leaves(options)).map(async ([name, leaf]: [string, LeafOptions]) => {
    const pem = await ensurePair(
      options,
      name,
      ({ issue }) => issue(ca, leaf, options.now),
      (cert) => isCurrent(cert, leaf, options.now) && cert.verify(new X509Certificate(ca.cert).publicKey),
    );
    return [name, pem] as const;
  });
  const issued = Object.fromEntries(await Promise.all(entries)) as Record<LeafName, PemPair>;
  return { ca, ...issued, serviceAccountKey };
}

/** For a node that has joined: it holds no key of the cluster's authority, and its registry serves it alone. */
export async function ensureRegistryPair(options: Pick<PkiOptions, 'dir' | 'now'>): Promise<PemPair> {
  await makePrivateDir(options.dir);
  const leaf = { commonName: 'trellis-registry', hosts: REGISTRY_HOSTS };
  const ca = await ensureAuthority(options, 'registryCa', 'trellis-registry-ca');
  return ensurePair(
    options,
    'registry',
    ({ issue }) => issue(ca, leaf, options.now),
    (cert) => isCurrent(cert, leaf, options.now),
  );
}

/** What a process that does not issue reads: everything must be there. */
export async function readPki(dir: string): Promise<Pki> {
  const names: readonly (LeafName | 'ca')[] = [
    ...(['ca', 'apiserver', 'apiserverKubeletClient', 'admin', 'kubelet'] as const),
    ...(['kubeletServer', 'registry'] as const),
  ];
  const pairs = names.map(async (name) => {
    const [cert, key] = await Promise.all(filesOf(dir, name).map((file) => readFile(file, 'utf8')));
    return [name, { cert, key }] as const;
  });
  const read = Object.fromEntries(await Promise.all(pairs)) as Record<LeafName | 'ca', PemPair>;
  return { ...read, serviceAccountKey: await readFile(path.join(dir, 'sa.key'), 'utf8') };
}

export function caFile(dir: string, of: 'ca' | 'registryCa' = 'ca'): string {
  return filesOf(dir, of)[0];
}

function filesOf(dir: string, name: string): [cert: string, key: string] {
  const file = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return [path.join(dir, `${file}.crt`), path.join(dir, `${file}.key`)];
}

/** Everything that was ever issued hangs on it, so half of one is never replaced by another. */
async function ensureAuthority(
  { dir, now }: Pick<PkiOptions, 'dir' | 'now'>,
  name: string,
  commonName: string,
): Promise<PemPair> {
  const [certFile, keyFile] = filesOf(dir, name);
  const draft = `${certFile}.new`;
  const key = await readIfThere(keyFile);
  let cert = await readIfThere(certFile);
  if (cert === undefined && key !== undefined) {
    const drafted = await readIfThere(draft);
    if (drafted !== undefined && isPair({ cert: drafted, key })) {
      await rename(draft, certFile);
      cert = drafted;
    }
  }
  if (cert !== undefined && key !== undefined) {
    if (isPair({ cert, key })) return { cert, key };
    throw broken(`${keyFile} is not the key of ${certFile}`);
  }
  if (cert !== undefined) throw broken(`${certFile} is there and its key ${keyFile} is not`);
  if (key !== undefined) throw broken(`${keyFile} is there and its certificate ${certFile} is not`);
  const { makeAuthority } = await import('./authority.js');
  const pem = await makeAuthority(commonName, now);
  await writePrivate(draft, pem.cert);
  await writePrivate(keyFile, pem.key);
  await rename(draft, certFile);
  return pem;
}

const broken = (what: string): ClusterError =>
  new ClusterError(
    'BROKEN_PKI',
    `${what}. Restore it from a backup: with another one, no certificate or token that the cluster has issued would be ` +
      'taken any more. "trellis down --purge" removes the cluster as a whole',
  );

function isPair({ cert, key }: PemPair): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    // One of them is no PEM at all.
    return false;
  }
}

async function ensurePair(
  options: Pick<PkiOptions, 'dir'>,
  name: string,
  make: (authority: typeof import('./authority.js')) => Promise<PemPair>,
  keep: (cert: X509Certificate) => boolean,
): Promise<PemPair> {
  const [certFile, keyFile] = filesOf(options.dir, name);
  const [cert, key] = await Promise.all([readIfThere(certFile), readIfThere(keyFile)]);
  if (cert !== undefined && key !== undefined && isPair({ cert, key }) && keep(new X509Certificate(cert)))
    return { cert, key };
  // Loading the library takes longer than issuing: a second start does without it.
  const pem = await make(await import('./authority.js'));
  await writePrivate(keyFile, pem.key);
  await writePrivate(certFile, pem.cert);
  return pem;
}

function isCurrent(cert: X509Certificate, leaf: LeafOptions, now: number): boolean {
  const covered = (host: string) =>
    (isIP(host) === 0 ? cert.checkHost(host, { subject: 'never' }) : cert.checkIP(host)) !== undefined;
  // What it is called by changed with a version: whose rights it has must follow.
  const isSame = sameSubject(cert, leaf);
  return isSame && Date.parse(cert.validTo) - now > RENEW_BEFORE_MS && (leaf.hosts ?? []).every(covered);
}

/** Lines such as `O=system:nodes`; organizations in any order. */
function sameSubject({ subject }: X509Certificate, { commonName, organizations = [] }: LeafOptions): boolean {
  const wanted = [`CN=${commonName}`, ...organizations.map((name) => `O=${name}`)];
  return sameMembers(subject.split('\n'), wanted);
}

const sameMembers = (left: readonly string[], right: readonly string[]): boolean =>
  [...left].sort().join('\n') === [...right].sort().join('\n');

async function ensureSigningKey(dir: string): Promise<string> {
  const file = path.join(dir, 'sa.key');
  const found = await readIfThere(file);
  if (found !== undefined) return found;
  const [caCert, caKey] = filesOf(dir, 'ca');
  if ((await readIfThere(caCert)) !== undefined || (await readIfThere(caKey)) !== undefined)
    throw broken(`the cluster has certificates, and the key ${file} of its tokens is missing`);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  await writePrivate(file, pem);
  return pem;
}
