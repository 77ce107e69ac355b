// Finds a cluster by one address and a bootstrap token: kubeadm's discovery.
// Guarantees: nothing that an unknown server says is believed before the token's signature, or the authority that was
// given, has vouched for it; the token itself is not sent before; each failure says what to do.
import { createHash, timingSafeEqual, X509Certificate } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { V1ConfigMap } from '../../api/gen/types.js';
import { CONFIG_MAPS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { within } from '../../base/deadline.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import { ClientError } from '../../client/error.js';
import { type HttpsOptions, openHttps } from '../../client/httpTransport.js';
import { openClient } from '../../client/typedClient.js';
import { detachedSignature } from '../../controllers/bootstrapTokens/tokens.js';
import { ClusterError } from '../error.js';
import { CLUSTER_INFO, INFO_KEY } from './objects.js';
import type { JoinToken } from './token.js';

interface DiscoveryOptions {
  /** Such as `https://10.0.0.1:6443`. */
  readonly server: string;
  readonly token: JoinToken;
  /** `sha256:<hex>` of an authority's public key, as kubeadm prints it; one of them must be the cluster's. */
  readonly caHashes: readonly string[];
  /** PEM of the cluster's authority, when it is known already. */
  readonly ca?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A token that was just made is signed within moments. */
const SIGNATURE_WAIT_MS = 5_000;
const POLL_MS = 200;
const ANSWER_MS = 15_000;
const HASH = /^sha256:[0-9a-f]{64}$/;

/** The PEM of the cluster's authority. */
export async function discoverAuthority(options: DiscoveryOptions): Promise<string> {
  checkHashes(options.caHashes);
  const first = options.ca === undefined ? { insecureSkipTlsVerify: true } : { ca: options.ca };
  const info = await signedInfo(options, first);
  const { ca } = accessOf(info, options.server);
  checkPins(ca, options);
  // The same again from a server whose certificate that authority has signed: it is the one that we shall talk to.
  const again = await readInfo(options, { ca });
  if (again[INFO_KEY] !== info)
    throw untrusted(
      `${options.server} tells different things to different callers; somebody may be in between`,
    );
  return ca;
}

/** kubeadm's form: SHA-256 of the authority's public key. */
export function caHash(pem: string): string {
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

/** The text that a holder of the token has signed. */
async function signedInfo(options: DiscoveryOptions, trust: Partial<HttpsOptions>): Promise<string> {
  const { token, server } = options;
  const deadline = Date.now() + SIGNATURE_WAIT_MS;
  for (;;) {
    const data = await readInfo(options, trust);
    const text = data[INFO_KEY];
    const signature = data[`jws-${INFO_KEY}-${token.id}`];
    if (text !== undefined && signature !== undefined) {
      if (isSignedBy(token, text, signature)) return text;
      throw new ClusterError(
        'BAD_TOKEN',
        `the secret part of token ${token.id} is not the one that ${server} knows; ` +
          'copy the join command again, or make a new one there with "trellis token create --print-join-command"',
      );
    }
    if (Date.now() > deadline) throw unknownToken(options);
    await sleep(POLL_MS, undefined, options.signal === undefined ? {} : { signal: options.signal });
  }
}

export function isSignedBy(token: JoinToken, text: string, signature: string): boolean {
  const [wanted, given] = [detachedSignature(text, token), signature].map((part) =>
    createHash('sha256').update(part).digest(),
  );
  return wanted !== undefined && given !== undefined && timingSafeEqual(wanted, given);
}

export const unknownToken = ({ token, server }: Pick<DiscoveryOptions, 'token' | 'server'>): ClusterError =>
  new ClusterError(
    'BAD_TOKEN',
    `${server} does not know token ${token.id}, or it has expired; ` +
      'make a new one there with "trellis token create --print-join-command"',
  );

async function readInfo(
  { server }: DiscoveryOptions,
  trust: Partial<HttpsOptions>,
): Promise<NonNullable<V1ConfigMap['data']>> {
  return asking({ server, ...trust }, async (client) => {
    const { data = {} } = await client.of(CONFIG_MAPS).get(CLUSTER_INFO);
    return data;
  });
}

/** A few questions to the server; each failure in the words of whoever wants to join. */
export async function asking<T>(access: HttpsOptions, ask: (client: Client) => Promise<T>): Promise<T> {
  const { server } = access;
  const silence = () => {
    const text = `cannot reach the apiserver at ${server}: no answer in ${ANSWER_MS / 1000} s`;
    throw new ClientError('UNREACHABLE', text);
  };
  let client: Client | undefined;
  try {
    client = openClient(openHttps(access));
    return await within(ask(client), ANSWER_MS, silence);
  } catch (error) {
    throw unreadable(server, error);
  } finally {
    client?.close();
  }
}

function unreadable(server: string, error: unknown): unknown {
  if (error instanceof ApiError)
    return new ClusterError(
      'UNREACHABLE',
      `${server} answers, but not as the server of a cluster that can be joined: ${error.message}. ` +
        'Is it a control plane of Trellis or of kubeadm?',
      { cause: error },
    );
  if (ClientError.is(error, 'CONFIG')) return new ClusterError('BAD_OPTION', `--server: ${error.message}`);
  if (!ClientError.is(error, 'UNREACHABLE')) return error;
  const { code = '' } = (error.cause ?? {}) as NodeJS.ErrnoException;
  if (CERTIFICATE_FAULTS.has(code))
    return untrusted(
      `the certificate of ${server} does not hold for it (${messageOf(error.cause)}); use an address that it ` +
        'names, start the server with --tls-san for this one, or look whether --ca-file is of another cluster',
      error,
    );
  return new ClusterError(
    'UNREACHABLE',
    `${error.message}; does "trellis server" or "trellis up" run there, and does a firewall let its port through?`,
    { cause: error },
  );
}

const CERTIFICATE_FAULTS = new Set([
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
]);

/** What a kubeconfig of cluster-info says; `whose` names it in a refusal. */
export function accessOf(
  kubeconfig: string,
  whose: string,
): { readonly server: string; readonly ca: string } {
  try {
    const { clusters } = parse(kubeconfig) as {
      clusters: { cluster: { server?: string; 'certificate-authority-data'?: string } }[];
    };
    const { server = '', 'certificate-authority-data': data = '' } = clusters[0]?.cluster ?? {};
    return { server, ca: new X509Certificate(Buffer.from(data, 'base64')).toString() };
  } catch (cause) {
    throw untrusted(`the cluster-info of ${whose} holds no certificate authority`, cause);
  }
}

function checkHashes(hashes: readonly string[]): void {
  for (const hash of hashes)
    if (!HASH.test(hash))
      throw new ClusterError(
        'BAD_OPTION',
        `--ca-cert-hash: "${hash}" is not of the form sha256:<64 hexadecimal digits>`,
      );
}

function checkPins(ca: string, { caHashes, server }: DiscoveryOptions): void {
  if (caHashes.length === 0 || caHashes.includes(caHash(ca))) return;
  throw untrusted(
    `the authority of ${server} is ${caHash(ca)}, not the one that --ca-cert-hash names: ` +
      'this is another cluster, or somebody is in between. Copy the join command again from the server',
  );
}

const untrusted = (message: string, cause?: unknown) => new ClusterError('UNTRUSTED', message, { cause });
