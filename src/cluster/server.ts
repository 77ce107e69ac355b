// The control plane's process: store, apiserver, controllers and scheduler, joined in one process.
// Guarantees: controllers and scheduler reach the API as any other client does, each controller with its own identity and
// rights; of several servers on one etcd one runs the controllers and one the scheduler, each while it holds the lease.

import type { Build } from '../api/build.js';
import { KINDS } from '../api/kinds/index.js';
import type { Log } from '../api/log.js';
import { reconcileBootstrapPolicy } from '../apiserver/auth/bootstrapPolicy.js';
import { serviceAccountUser } from '../apiserver/auth/rbac.js';
import { bootstrap } from '../apiserver/bootstrap.js';
import { clusterParts } from '../apiserver/clusterParts.js';
import type { UserInfo } from '../apiserver/identity.js';
import { type ApiServerOptions, openApiServer } from '../apiserver/server.js';
import type { Client } from '../client/client.js';
import { makeEventRecorder } from '../client/eventRecorder.js';
import { SharedObjects } from '../client/sharedObjects.js';
import { ACCOUNT_NAMESPACE } from '../controllers/accounts.js';
import { runControllers } from '../controllers/run.js';
import { DNS_SERVICE } from '../dns/zone.js';
import { keepIdleMemorySmall } from '../kernel/idleMemory.js';
import { covers } from '../kubelet/certificates/certificateManager.js';
import type { SchedulerConfiguration } from '../scheduler/configuration/configuration.js';
import { Extender } from '../scheduler/extenders/extender.js';
import { Scheduler } from '../scheduler/scheduler.js';
import { openStoreAt } from '../store/openStore.js';
import type { Store } from '../store/store.js';
import { savedScheduler } from './componentFiles.js';
import { ensureDnsService } from './dnsService.js';
import { BUSYBOX_IMAGE } from './images/builtin.js';
import { ensureJoinObjects } from './join/objects.js';
import type { Layout } from './layout.js';
import { type Leading, type LeadingOptions, type LeaseTimes, whileLeading } from './leading.js';
import { type Pki, readPki } from './pki/files.js';
import { DNS_ADDRESS, serverUrl, serviceAddress } from './serviceAddress.js';
import { rangesOf, type Settings } from './settings.js';
import { type StepSink, step } from './steps.js';

/** Kubernetes' own default: a year. */
const SIGNED_MS = 8760 * 60 * 60 * 1000;

export interface ServerOptions {
  readonly layout: Layout;
  readonly settings: Settings;
  /** The node's addresses, at most one a family. */
  readonly nodeIps: readonly [string, ...string[]];
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly sink: StepSink;
  readonly log: Log;
  /** How long leases last and when they are renewed, where that is not as usual. */
  readonly leaseTimes?: LeaseTimes;
  /** What the apiserver tells of itself. */
  readonly build?: Build;
}

/** Resolves when it has ended in order. */
export async function runServer(options: ServerOptions): Promise<void> {
  const { layout, settings, sink } = options;
  const pki = await readPki(layout.pkiDir);
  const shared = new SharedObjects();
  const store = await step(sink, 'store', () => openStoreAt(settings, layout.storeDir));
  const apiserver = await step(sink, 'apiserver', () =>
    openApiServer(apiServerOptions(options, { pki, shared, store })),
  );
  let stopReleasing: (() => void) | undefined;
  try {
    const scheduling = await savedScheduler(layout);
    await step(sink, 'cluster policy', () => apiserver.ready());
    sink({ type: 'ready', who: 'server' });
    stopReleasing = keepIdleMemorySmall();
    const leading = {
      apiserver,
      shared,
      log: options.log,
      signal: options.signal,
      hasOthers: (settings.etcdServers ?? '') !== '',
      id: layout.id,
      times: options.leaseTimes,
    };
    await Promise.all([
      whileLeading(leading, 'kube-controller-manager', (led) => runLedControllers(led, options, pki)),
      runLedScheduler(leading, scheduling),
    ]);
  } finally {
    stopReleasing?.();
    await apiserver.close();
    await store.close();
  }
}

interface Foundations {
  readonly pki: Pki;
  readonly shared: SharedObjects;
  readonly store: Store;
}

function apiServerOptions(options: ServerOptions, { pki, shared, store }: Foundations): ApiServerOptions {
  const { settings } = options;
  const log = options.log.with({ part: 'apiserver' });
  return {
    store,
    kinds: KINDS,
    listen: { host: '::', port: settings.securePort },
    ...(options.nodeIps[0] === undefined ? {} : { externalHost: options.nodeIps[0] }),
    tls: { cert: pki.apiserver.cert, key: pki.apiserver.key, clientCa: pki.ca.cert },
    parts: clusterParts({
      serviceAccountKeyPem: pki.serviceAccountKey,
      issuer: `https://kubernetes.default.svc.${settings.clusterDomain}`,
      serviceCidrs: rangesOf(settings.serviceCidr),
      bootstrapTokens: true,
      log,
      shared,
      prepare: (client) => prepareCluster(client, options, pki.ca.cert),
    }),
    kubelet: {
      cert: pki.apiserverKubeletClient.cert,
      key: pki.apiserverKubeletClient.key,
      ca: pki.ca.cert,
    },
    log,
    build: options.build,
  };
}

function runLedControllers(
  { clientAs, ...identity }: Leading,
  { settings, layout }: ServerOptions,
  pki: Pki,
): Promise<void> {
  return runControllers({
    ...identity,
    clientFor: (account) => clientAs(serviceAccount(account)),
    rootCa: pki.ca.cert,
    signing: { ...pki.ca, durationMs: SIGNED_MS },
    servingApproval: {
      isReserved: (host) => covers(pki.apiserver.cert, [host]),
      serviceCidrs: [settings.serviceCidr],
    },
    clusterCidr: settings.clusterCidr,
    nodeMonitorGracePeriodMs: settings.nodeGraceSeconds * 1000,
    dnsService: DNS_SERVICE,
    localPath: { directory: layout.volumeDir, helperImage: BUSYBOX_IMAGE },
  });
}

/** Extenders are connected to once, however often this server leads. */
async function runLedScheduler(
  leading: LeadingOptions,
  {
    extenders: configured = [],
    profiles,
    podInitialBackoffMs,
    podMaxBackoffMs,
  }: Partial<SchedulerConfiguration>,
): Promise<void> {
  const extenders = configured.map((settings) => new Extender(settings));
  await whileLeading(leading, 'kube-scheduler', ({ client, informers, log, signal }) =>
    new Scheduler({
      client,
      informers,
      log,
      signal,
      recorder: makeEventRecorder(client, { component: 'default-scheduler', log }),
      extenders,
      ...(profiles === undefined ? {} : { profiles }),
      ...(podInitialBackoffMs === undefined ? {} : { podInitialBackoffMs }),
      ...(podMaxBackoffMs === undefined ? {} : { podMaxBackoffMs }),
    }).run(),
  );
  for (const extender of extenders) extender.close();
}

async function prepareCluster(
  client: Client,
  { settings, nodeIps: [address] }: ServerOptions,
  ca: string,
): Promise<void> {
  await bootstrap(client, {
    address,
    port: settings.securePort,
    serviceCidrs: rangesOf(settings.serviceCidr),
    clientCa: ca,
  });
  await reconcileBootstrapPolicy(client);
  await ensureJoinObjects(client, { settings, ca, server: serverUrl(address, settings.securePort) });
  await ensureDnsService(client, serviceAddress(settings, DNS_ADDRESS));
}

/** As its token would name it. */
function serviceAccount(name: string): UserInfo {
  return {
    name: serviceAccountUser({ namespace: ACCOUNT_NAMESPACE, name }),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${ACCOUNT_NAMESPACE}`, 'system:authenticated'],
  };
}
