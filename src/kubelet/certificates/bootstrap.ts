// The first certificate of a node: a kubeconfig that may only ask becomes one that is the node's own.
// Guarantees: a kubeconfig that still serves is left as it is; what is written is readable by root alone.
import { X509Certificate } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import type { Log } from '../../api/log.js';
import type { HttpsOptions } from '../../client/httpTransport.js';
import { openHttps } from '../../client/httpTransport.js';
import { readKubeconfig } from '../../client/kubeconfig.js';
import { openClient } from '../../client/typedClient.js';
import { renewCertificate } from './certificateManager.js';
import type { CertificateStore } from './certificateStore.js';

interface BootstrapOptions {
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string;
  readonly store: CertificateStore;
  readonly nodeName: string;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** After this the kubeconfig names this node's own certificate. */
export async function bootstrapKubeconfig(options: BootstrapOptions): Promise<void> {
  const { kubeconfig, store, nodeName, log, signal } = options;
  if (await certificateStillServes(kubeconfig)) return;
  const access = await readKubeconfig(options.bootstrapKubeconfig);
  const client = openClient(openHttps(access));
  try {
    log.info('asking for the first certificate of this node', { node: nodeName });
    const wish = () => ({ nodeName, hosts: [] });
    await renewCertificate({ client, store, wish, log, renewed: () => {} }, signal);
  } finally {
    client.close();
  }
  await writePrivately(kubeconfig, stringify(kubeconfigOf(access, store.currentFile)));
}

/** Whether it is there, and what it names has not run out. */
export async function certificateStillServes(kubeconfig: string): Promise<boolean> {
  const access = await readKubeconfig(kubeconfig).catch(() => undefined); // none yet, or its certificate is gone
  if (access === undefined) return false;
  if (access.cert === undefined) return true;
  return Date.parse(new X509Certificate(access.cert).validTo) > Date.now();
}

function kubeconfigOf(
  { server, ca, tlsServerName, insecureSkipTlsVerify }: HttpsOptions,
  file: string,
): object {
  const cluster = {
    server,
    ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(tlsServerName === undefined ? {} : { 'tls-server-name': tlsServerName }),
    ...(insecureSkipTlsVerify === true ? { 'insecure-skip-tls-verify': true } : {}),
  };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'default-context',
    clusters: [{ name: 'default-cluster', cluster }],
    users: [{ name: 'default-auth', user: { 'client-certificate': file, 'client-key': file } }],
    contexts: [
      {
        name: 'default-context',
        context: { cluster: 'default-cluster', user: 'default-auth', namespace: 'default' },
      },
    ],
  };
}

async function writePrivately(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o755 });
  await rm(`${file}.new`, { force: true });
  await writeFile(`${file}.new`, text, { mode: 0o600, flag: 'wx' });
  await rename(`${file}.new`, file);
}
