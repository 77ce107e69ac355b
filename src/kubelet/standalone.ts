// A kubelet as a process of its own: runtime, apiserver if there is one, its API and its health.
// Guarantees: without a kubeconfig it runs static pods only; what it opened is closed when it ends, and pods stay.
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import type { PemPair } from '../api/certificates/keyPair.js';
import type { Log } from '../api/log.js';
import { aborted } from '../base/aborted.js';
import { Closers } from '../base/closers.js';
import type { Client } from '../client/client.js';
import { openInformers } from '../client/sharedInformers.js';
import { openCgroups } from '../kernel/cgroup/adapter.js';
import { addressesOf, openIdentity } from './certificates/identity.js';
import { completeConfig, type KubeletConfig } from './config.js';
import type { KubeletSettings } from './configuration/configuration.js';
import type { ServerSettings } from './configuration/fields.js';
import { KubeletError } from './error.js';
import { openKubelet } from './process.js';
import { type Access, makeAccess } from './server/access.js';
import { selfSigned } from './server/selfSigned.js';
import type { KubeletServers } from './server/servers.js';
import { keepChains, makeUtilChains } from './utilChains.js';

export interface StandaloneOptions {
  readonly settings: KubeletSettings;
  /** Undefined for a kubelet without an apiserver. */
  readonly kubeconfig: string | undefined;
  /** With what the first certificate is asked for when the kubeconfig does not serve. */
  readonly bootstrapKubeconfig?: string | undefined;
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Told when everything listens. */
  readonly started?: (ports: Pick<KubeletServers, 'port' | 'healthzPort' | 'readOnlyPort'>) => void;
}

/** Resolves when the signal has ended it in order. */
export async function runStandalone(options: StandaloneOptions): Promise<void> {
  const { settings, kubeconfig, signal, log } = options;
  const config = completeConfig({ nodeName: os.hostname().toLowerCase(), ...settings.kubelet });
  const closers = new Closers((error) => log.error('could not end in order', { error }));
  try {
    const identity =
      kubeconfig === undefined ? undefined : await openIdentity({ ...options, kubeconfig, config });
    const client = identity?.client;
    const informers = client && openInformers(client, { log });
    closers.add(
      () => identity?.close(),
      () => informers?.stop(),
    );
    const kubelet = await openKubelet({
      config,
      runtimeEndpoint: settings.server.containerRuntimeEndpoint,
      cgroups: config.cgroupsPerQOS ? await openCgroups() : undefined,
      client,
      informers,
      log,
      serving: async () => ({
        tls: await servingTls(config, settings.server, await identity?.serving()),
        access: accessOf(settings.server, config, client, log),
      }),
    });
    closers.add(() => kubelet.close());
    if (config.makeIPTablesUtilChains) closers.add(await keepChains(makeUtilChains, log));
    const { servers, tls } = kubelet;
    identity?.keepServing((pair) => servers.renew({ ...tls, ...pair }));
    options.started?.(servers);
    log.info('the kubelet runs', { node: config.nodeName, port: servers.port, alone: client === undefined });
    await aborted(signal);
  } finally {
    await closers.close();
  }
}

/** `issued` is undefined when this kubelet gets no serving certificate from the cluster. */
async function servingTls(
  config: KubeletConfig,
  server: ServerSettings,
  issued: Partial<PemPair> | undefined,
) {
  const pair =
    issued ??
    (server.tlsCertFile === ''
      ? await selfSigned({
          directory: server.certDir,
          nodeName: config.nodeName,
          addresses: addressesOf(config),
          now: Date.now(),
        })
      : {
          cert: await readFile(server.tlsCertFile, 'utf8'),
          key: await readFile(server.tlsPrivateKeyFile, 'utf8'),
        });
  // Without an authority of clients nobody's certificate is believed.
  const clientCa = server.clientCAFile === '' ? [] : [await readFile(server.clientCAFile, 'utf8')];
  return { ...pair, clientCa };
}

const NOBODY = { user: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Who is let in by these settings; without an apiserver nobody can be asked, so certificates alone name callers. */
export function accessOf(
  server: ServerSettings,
  config: KubeletConfig,
  client: Client | undefined,
  log: Log,
): Access {
  const asked = client && makeAccess({ client, nodeName: config.nodeName, log });
  if (asked === undefined && server.authorizationMode === 'Webhook' && server.anonymousAuth)
    throw new KubeletError(
      'InvalidConfig',
      'authentication.anonymous.enabled: needs an apiserver to ask, or authorization.mode AlwaysAllow',
    );
  return {
    async authenticate(credentials) {
      const known =
        credentials.certificate ?? (server.tokenWebhook ? await asked?.authenticate(credentials) : undefined);
      return known ?? (server.anonymousAuth && credentials.bearer === undefined ? NOBODY : undefined);
    },
    async authorize(caller, attributes) {
      if (server.authorizationMode === 'AlwaysAllow') return true;
      return (await asked?.authorize(caller, attributes)) === true;
    },
  };
}
