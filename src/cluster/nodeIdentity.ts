// Who the agent of a node is: by the certificates that `up` has made, or by those that a cluster has issued to it.
// Guarantees: issued certificates are renewed while it runs and used at once; the kubelet's certificate serves the kubelet
// alone; what it opened ends with close().
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import type { PemPair } from '../api/certificates/keyPair.js';
import type { Log } from '../api/log.js';
import {
  NODE_PARTS,
  NODE_PARTS_NAMESPACE,
  type NodePart,
  ofEachPart,
} from '../apiserver/auth/defaults/nodeParts.js';
import { openAccountTransport } from '../client/accountTransport.js';
import type { Client } from '../client/client.js';
import { openHttps } from '../client/httpTransport.js';
import { openClient } from '../client/typedClient.js';
import { openIdentity } from '../kubelet/certificates/identity.js';
import type { Layout } from './layout.js';
import { caFile, ensureRegistryPair, readPki } from './pki/files.js';
import type { Settings } from './settings.js';

export interface NodeIdentity {
  readonly server: string;
  /** PEM of the cluster's authority. */
  readonly ca: string;
  readonly kubelet: Client;
  /** Each by tokens of its own account, which the kubelet asks for and which end with its Node. */
  readonly parts: PartClients;
  /** Of the kubelet's own server; empty as long as the cluster has not issued it. */
  readonly serving: Partial<PemPair>;
  keepServing(renewed: (pair: PemPair) => void): void;
  /** What the image registry shows to containerd, and the authority that containerd trusts for it. */
  readonly registry: { readonly tls: PemPair; readonly caFile: string };
  close(): Promise<void>;
}

export type PartClients = Readonly<Record<NodePart, Client>>;

interface NodeIdentityOptions {
  readonly layout: Layout;
  readonly settings: Settings;
  readonly nodeIps: readonly string[];
  readonly signal: AbortSignal;
  readonly log: Log;
}

export const openNodeIdentity = (options: NodeIdentityOptions): Promise<NodeIdentity> =>
  options.settings.server === '' ? madeHere(options) : issued(options);

async function madeHere({ layout, settings }: NodeIdentityOptions): Promise<NodeIdentity> {
  const pki = await readPki(layout.pkiDir);
  const server = `https://127.0.0.1:${settings.securePort}`;
  const as = (pem: PemPair) =>
    openClient(openHttps({ server, ca: pki.ca.cert, cert: pem.cert, key: pem.key }));
  const kubelet = as(pki.kubelet);
  const { parts, close } = openPartClients({ server, ca: pki.ca.cert, kubelet, nodeName: settings.nodeName });
  return {
    server,
    ca: pki.ca.cert,
    kubelet,
    parts,
    serving: pki.kubeletServer,
    keepServing: () => {}, // made anew by the start that finds it near its end
    registry: { tls: pki.registry, caFile: caFile(layout.pkiDir) },
    close: async () => {
      close();
      kubelet.close();
    },
  };
}

/** Waits until the cluster has issued the first certificate. */
async function issued(options: NodeIdentityOptions): Promise<NodeIdentity> {
  const { layout, settings, nodeIps, signal, log } = options;
  const { nodeKubeconfig: kubeconfig, bootstrapKubeconfig, pkiDir } = layout;
  const identity = await openIdentity({
    kubeconfig,
    bootstrapKubeconfig: existsSync(bootstrapKubeconfig) ? bootstrapKubeconfig : undefined,
    settings: { server: { certDir: pkiDir, rotateCertificates: true, serverTLSBootstrap: true } },
    config: { nodeName: settings.nodeName, nodeIps },
    signal,
    log,
  });
  // It holds the token, which has done its work.
  await rm(bootstrapKubeconfig, { force: true });
  const { client: kubelet, keepServing } = identity;
  const { server, nodeName } = settings;
  const ca = await readFile(caFile(pkiDir), 'utf8');
  const { parts, close } = openPartClients({ server, ca, kubelet, nodeName });
  return {
    server,
    ca,
    kubelet,
    parts,
    keepServing,
    close: async () => {
      close();
      await identity.close();
    },
    serving: (await identity.serving()) ?? {},
    registry: {
      tls: await ensureRegistryPair({ dir: pkiDir, now: Date.now() }),
      caFile: caFile(pkiDir, 'registryCa'),
    },
  };
}

interface PartOptions {
  readonly server: string;
  readonly ca: string;
  readonly kubelet: Client;
  readonly nodeName: string;
}

/** The first request of each asks for its token, which takes the Node to be there. */
export function openPartClients(options: PartOptions): { readonly parts: PartClients; close(): void } {
  const { server, ca, kubelet, nodeName } = options;
  const carrier = openHttps({ server, ca });
  const parts = ofEachPart((part) =>
    openClient(
      openAccountTransport({
        transport: carrier,
        issuer: kubelet,
        account: { namespace: NODE_PARTS_NAMESPACE, name: NODE_PARTS[part].account },
        boundTo: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      }),
    ),
  );
  return { parts, close: () => carrier.close() };
}
