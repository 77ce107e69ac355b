// A certificate asked of the cluster: a key made here, a CertificateSigningRequest, and the wait for its certificate.
// Guarantees: the key never leaves this machine; a denied or failed request is told with its reason; the wait can be given up.
import 'reflect-metadata';
import { createHash, createPublicKey, generateKeyPairSync, webcrypto, X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { hostNames, P256, type PemPair } from '../../api/certificates/keyPair.js';
import type { V1CertificateSigningRequest } from '../../api/gen/types.js';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import { sleep } from '../abort.js';
import { KubeletError } from '../error.js';

const FIRST_LOOK_MS = 200;
const LONGEST_LOOK_MS = 5_000;
/** As long as stock kubelets wait for an approval. */
const PATIENCE_MS = 15 * 60 * 1000;

export interface CertificateWish {
  readonly nodeName: string;
  /** Names and addresses of a server; a client has none. */
  readonly hosts: readonly string[];
}

export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** The same key asks under the same name, so that a kubelet that was restarted finds its request again. */
export async function obtainCertificate(
  client: Client,
  wish: CertificateWish,
  key: string,
  signal: AbortSignal,
): Promise<PemPair> {
  const requests = client.of(CERTIFICATE_SIGNING_REQUESTS);
  const name = requestName(wish, key);
  const asked = await csrOf(wish, key);
  await requests.create(requestOf(name, wish, asked)).catch((error: unknown) => {
    if (!ApiError.is(error, 'AlreadyExists')) throw error;
  });
  const deadline = Date.now() + PATIENCE_MS;
  for (let waitMs = FIRST_LOOK_MS; Date.now() < deadline; waitMs = Math.min(waitMs * 2, LONGEST_LOOK_MS)) {
    const { status } = await requests.get({ name });
    for (const { type, reason = '', message = '' } of status?.conditions ?? [])
      if (type === 'Denied' || type === 'Failed')
        throw refused(
          `certificate signing request ${name} is ${type.toLowerCase()}: ${reason} ${message}`.trim(),
        );
    if (status?.certificate) return checked(Buffer.from(status.certificate, 'base64').toString(), key);
    await sleep(waitMs, signal);
  }
  throw refused(`certificate signing request ${name} was neither signed nor denied in 15 minutes`);
}

function requestOf(name: string, { hosts }: CertificateWish, request: string): V1CertificateSigningRequest {
  const isServer = hosts.length > 0;
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: isServer ? 'kubernetes.io/kubelet-serving' : 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', isServer ? 'server auth' : 'client auth'],
    },
  };
}

function requestName({ nodeName, hosts }: CertificateWish, key: string): string {
  const digest = createHash('sha256')
    .update(publicOf(key))
    .update(JSON.stringify([nodeName, hosts]));
  return `node-csr-${digest.digest('hex').slice(0, 40)}`;
}

async function csrOf({ nodeName, hosts }: CertificateWish, key: string): Promise<string> {
  const [der] = x509.PemConverter.decode(key);
  if (der === undefined) throw refused('the key is not PEM');
  const privateKey = await webcrypto.subtle.importKey('pkcs8', der, P256, true, ['sign']);
  const publicKey = await webcrypto.subtle.importKey('spki', publicOf(key), P256, true, ['verify']);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: new x509.Name([{ O: ['system:nodes'] }, { CN: [`system:node:${nodeName}`] }]).toString(),
    keys: { privateKey, publicKey },
    signingAlgorithm: P256,
    extensions: hostNames(hosts),
  });
  return `${request.toString('pem')}\n`;
}

const publicOf = (key: string) => createPublicKey(key).export({ type: 'spki', format: 'der' });

/** A certificate for another key would break every connection: it is not taken. */
function checked(cert: string, key: string): PemPair {
  const got = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' });
  if (!got.equals(publicOf(key))) throw refused('the certificate that was signed is for another key');
  return { cert, key };
}

const refused = (why: string) => new KubeletError('FailedCertificate', why);
