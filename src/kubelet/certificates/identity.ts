// Who this kubelet is: its way to the apiserver, and the certificates that the cluster issues to it.
// Guarantees: a renewed certificate is in use at once, without a restart; what is kept current ends with close().
import type { PemPair } from '../../api/certificates/keyPair.js';
import type { Log } from '../../api/log.js';
import type { Client } from '../../client/client.js';
import { openHttps } from '../../client/httpTransport.js';
import { readKubeconfig } from '../../client/kubeconfig.js';
import { openClient } from '../../client/typedClient.js';
import type { KubeletConfig } from '../config.js';
import type { ServerSettings } from '../configuration/fields.js';
import { reachableAddresses } from '../node/machine.js';
import { bootstrapKubeconfig } from './bootstrap.js';
import { keepCertificate } from './certificateManager.js';
import { CertificateStore } from './certificateStore.js';
import { makeRotatingTransport } from './rotatingTransport.js';

interface IdentityOptions {
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig?: string | undefined;
  readonly settings: {
    readonly server: Pick<ServerSettings, 'certDir' | 'rotateCertificates' | 'serverTLSBootstrap'>;
  };
  readonly config: Pick<KubeletConfig, 'nodeName' | 'nodeIps'>;
  readonly signal: AbortSignal;
  readonly log: Log;
}

interface Identity {
  readonly client: Client;
  /** What is on disk of the issued serving certificate: empty before the first. Undefined when none is asked for. */
  serving(): Promise<Partial<PemPair> | undefined>;
  /** Keeps the serving certificate current, if it is one that the cluster issues. */
  keepServing(renewed: (pair: PemPair) => void): void;
  close(): Promise<void>;
}

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const { kubeconfig, settings, config, log } = options;
  const { certDir, rotateCertificates, serverTLSBootstrap } = settings.server;
  const { nodeName } = config;
  const own = new CertificateStore(certDir, 'kubelet-client');
  if (options.bootstrapKubeconfig !== undefined)
    await bootstrapKubeconfig({
      kubeconfig,
      bootstrapKubeconfig: options.bootstrapKubeconfig,
      nodeName,
      store: own,
      log,
      signal: options.signal,
    });
  const access = await readKubeconfig(kubeconfig);
  const transport = makeRotatingTransport(openHttps(access));
  const client = openClient(transport);
  const ending = new AbortController();
  const kept: Promise<void>[] = [];
  if (rotateCertificates)
    kept.push(
      keepCertificate(
        {
          client,
          store: own,
          log,
          wish: () => ({ nodeName, hosts: [] }),
          renewed: (pair) => transport.exchange(openHttps({ ...access, ...pair })),
        },
        ending.signal,
      ),
    );
  const served = new CertificateStore(certDir, 'kubelet-server');
  return {
    client,
    serving: async () => (serverTLSBootstrap ? ((await served.current()) ?? {}) : undefined),
    keepServing(renewed) {
      if (!serverTLSBootstrap) return;
      const wish = () => ({ nodeName, hosts: [nodeName, ...addressesOf(config)] });
      kept.push(keepCertificate({ client, store: served, log, wish, renewed }, ending.signal));
    },
    async close() {
      ending.abort();
      client.close();
      await Promise.all(kept);
    },
  };
}

/** Under which this node is reached. */
export const addressesOf = ({ nodeIps }: Pick<KubeletConfig, 'nodeIps'>): readonly string[] =>
  nodeIps.length > 0 ? nodeIps : reachableAddresses();
