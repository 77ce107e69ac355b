// All controllers together: what the controller manager runs once it leads.
// Guarantees: resolves only when every controller has ended; one that fails to start ends the others with its error; each
// writes as the service account that has the rights of that controller, where `clientFor` opens one.
import { type Cidr, parseCidr } from '../api/ip.js';
import type { Log } from '../api/log.js';
import type { Client } from '../client/client.js';
import { type EventRecorder, makeEventRecorder, referenceTo } from '../client/eventRecorder.js';
import type { Informers } from '../client/informer.js';
import { accountOf } from './accounts.js';
import { accountTokenController } from './accountTokens.js';
import { askedInformers } from './askedInformers.js';
import { tokenCleaner } from './bootstrapTokens/cleaner.js';
import { bootstrapSigner } from './bootstrapTokens/signer.js';
import { certificateApprover } from './certificates/approving.js';
import { certificateCleaner } from './certificates/cleaning.js';
import { type ServingApproval, servingApprover } from './certificates/servingApproval.js';
import type { SigningAuthority } from './certificates/sign.js';
import { certificateSigner } from './certificates/signing.js';
import { clusterRoleAggregationController } from './clusterRoleAggregation.js';
import type { Controller, RecordEvent } from './controller.js';
import { cronJobController } from './cronJob/controller.js';
import { daemonSetController } from './daemonSet/controller.js';
import { deploymentController } from './deployment/controller.js';
import { disruptionController } from './disruption/controller.js';
import { dnsEndpointsController, type NamespacedName } from './dnsEndpoints.js';
import { enabledNames } from './enabled.js';
import { endpointSliceController } from './endpointSlice/controller.js';
import { endpointSliceMirroringController } from './endpointSliceMirroring/controller.js';
import { endpointsController } from './endpoints/controller.js';
import { ControllersError } from './error.js';
import { garbageCollector } from './garbageCollector/controller.js';
import { AUTOSCALER_DEFAULTS, type AutoscalerOptions, autoscalerController } from './hpa/controller.js';
import { jobController } from './job/controller.js';
import { namespaceController } from './namespace/controller.js';
import type { NodePrefixes } from './node/cidrPool.js';
import { nodeIpamController } from './node/ipam.js';
import { NODE_LIFECYCLE_DEFAULTS, nodeLifecycleController } from './node/lifecycle.js';
import { taintEvictionController } from './node/taintEviction.js';
import { nodeTtlController } from './node/ttl.js';
import { EVICTION_RATES, type EvictionRates } from './node/zones.js';
import { rootCaPublisher, serviceAccountController } from './perNamespace.js';
import { podGcController } from './podGc.js';
import { replicaSetController, replicationControllerController } from './replicaSet/controller.js';
import { resourceQuotaController } from './resourceQuota/controller.js';
import { makeServedKinds } from './servedKinds.js';
import { serviceBalancerController } from './service/controller.js';
import { serviceCidrController } from './serviceCidr.js';
import { statefulSetController } from './statefulSet/controller.js';
import { ttlAfterFinishedController } from './ttlAfterFinished.js';
import { volumeBinder } from './volumes/binder.js';
import { ephemeralVolumeController } from './volumes/ephemeral.js';
import { volumeExpander } from './volumes/expansion.js';
import type { LocalPathOptions } from './volumes/localPath.js';
import { claimProtection, volumeProtection } from './volumes/protection.js';

export interface ControllersOptions {
  /** As the controller manager itself: what serves all of them. */
  readonly client: Client;
  /** Opens the API as a service account of kube-system; closed with the controllers. Without it `client` serves for all. */
  clientFor?(account: string): Client;
  readonly informers: Informers;
  readonly log: Log;
  /** Ends them all. */
  readonly signal: AbortSignal;
  /** As `--controllers` has it, split at commas. Everything by default. */
  readonly enabled?: readonly string[];
  /** PEM of the CA that signs the apiserver's certificate; published to every namespace. */
  readonly rootCa: string;
  /** One network, or one of each family separated by a comma. */
  readonly clusterCidr?: string;
  /** Networks out of which Services of type LoadBalancer get their addresses; none by default. */
  readonly loadBalancerPool?: string;
  /** Signs the certificates that are asked for through the API; without it none are signed. */
  readonly signing?: SigningAuthority;
  /** Approves the serving certificates of kubelets by these rules; without them administrators do. */
  readonly servingApproval?: ServingApproval;
  /** The Service in front of the name servers that nodes say they have. */
  readonly dnsService?: NamespacedName;
  /** Switches the local-path provisioner and its default StorageClass on. */
  readonly localPath?: LocalPathOptions;
  readonly nodeMonitorGracePeriodMs?: number;
  readonly nodeMonitorPeriodMs?: number;
  readonly nodeStartupGracePeriodMs?: number;
  /** Nodes a second on which eviction may begin, and when a zone counts as disrupted. */
  readonly nodeEviction?: Partial<EvictionRates>;
  /** Prefix lengths of nodes' pod networks. */
  readonly nodePrefixes?: NodePrefixes;
  readonly autoscaler?: Partial<AutoscalerOptions>;
  /** So many finished pods are kept; 0 keeps them all. */
  readonly terminatedPods?: number;
  /** How many keys a controller works on at a time, by its name. */
  readonly workers?: Readonly<Record<string, number>>;
  readonly now?: () => number;
}

const DEFAULT_CLUSTER_CIDR = '10.244.0.0/16';

/** The names that `--controllers` knows. */
export function controllerNames(): string[] {
  return controllersOf({ rootCa: '' }).map(({ name }) => name);
}

/** Those that the options switch on. Throws ControllersError for a list that means nothing. */
export function enabledControllers(
  options: Parameters<typeof controllersOf>[0] & Pick<ControllersOptions, 'enabled'>,
): Controller[] {
  const all = controllersOf(options);
  const names = enabledNames(
    all.map(({ name }) => name),
    options.enabled ?? ['*'],
  );
  return all.filter(({ name }) => names.includes(name));
}

export async function runControllers(options: ControllersOptions): Promise<void> {
  const { client, informers, log, signal, now = Date.now } = options;
  // A signal each: what listens to one grows with the controller, not with their number.
  const running = enabledControllers(options).map((controller) => ({
    controller,
    ending: new AbortController(),
  }));
  const end = () => {
    for (const { ending } of running) ending.abort();
  };
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  const served = makeServedKinds({ client, log });
  const accounts = openAccounts(options);
  try {
    await Promise.all(
      running.map(async ({ controller, ending }) => {
        if (!(await served.wait(controller, ending.signal))) return;
        const own = accounts.clientOf(controller);
        const recorder = makeEventRecorder(own, { component: controller.name, log, now });
        const context = {
          client: own,
          log,
          now,
          informers: askedInformers(informers),
          signal: ending.signal,
          record: recordBy(recorder),
          workers: options.workers?.[controller.name],
        };
        await controller.run(context);
        await recorder.flush();
      }),
    );
  } finally {
    end();
    signal.removeEventListener('abort', end);
    accounts.close();
  }
}

/** One client for each account: several controllers may share one. */
function openAccounts({ client, clientFor }: ControllersOptions) {
  const opened = new Map<string, Client>();
  return {
    clientOf({ name }: Controller): Client {
      const account = accountOf(name);
      if (clientFor === undefined || account === undefined) return client;
      const own = opened.get(account) ?? clientFor(account);
      opened.set(account, own);
      return own;
    },
    close() {
      for (const own of opened.values()) own.close();
    },
  };
}

function controllersOf(
  options: Pick<ControllersOptions, 'rootCa'> & Partial<ControllersOptions>,
): Controller[] {
  const { rootCa, clusterCidr = DEFAULT_CLUSTER_CIDR } = options;
  return [
    namespaceController,
    serviceAccountController,
    accountTokenController(rootCa),
    rootCaPublisher(rootCa),
    deploymentController,
    replicaSetController,
    replicationControllerController,
    daemonSetController,
    statefulSetController,
    jobController,
    cronJobController,
    ttlAfterFinishedController,
    disruptionController,
    resourceQuotaController,
    autoscalerController({ ...AUTOSCALER_DEFAULTS, ...options.autoscaler }),
    volumeBinder(options.localPath),
    volumeExpander,
    ephemeralVolumeController,
    claimProtection,
    volumeProtection,
    endpointSliceController,
    endpointsController,
    endpointSliceMirroringController,
    ...(options.dnsService === undefined ? [] : [dnsEndpointsController(options.dnsService)]),
    serviceBalancerController(parseNetworks('--load-balancer-pool', options.loadBalancerPool ?? '')),
    serviceCidrController,
    garbageCollector,
    nodeIpamController(parseClusterCidrs(clusterCidr), options.nodePrefixes),
    nodeLifecycleController({
      gracePeriodMs: options.nodeMonitorGracePeriodMs ?? NODE_LIFECYCLE_DEFAULTS.gracePeriodMs,
      startupGracePeriodMs: options.nodeStartupGracePeriodMs ?? NODE_LIFECYCLE_DEFAULTS.startupGracePeriodMs,
      periodMs: options.nodeMonitorPeriodMs ?? NODE_LIFECYCLE_DEFAULTS.periodMs,
      eviction: { ...EVICTION_RATES, ...options.nodeEviction },
    }),
    taintEvictionController,
    nodeTtlController,
    podGcController(options.terminatedPods),
    clusterRoleAggregationController,
    certificateApprover,
    ...(options.servingApproval === undefined ? [] : [servingApprover(options.servingApproval)]),
    certificateSigner(options.signing),
    certificateCleaner,
    bootstrapSigner,
    tokenCleaner,
  ];
}

function recordBy(recorder: EventRecorder): RecordEvent {
  return (type, about, { type: severity, reason, message }) =>
    recorder.event(referenceTo(type, about), severity, reason, message);
}

function parseNetworks(flag: string, text: string): Cidr[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const cidr = parseCidr(part);
      if (cidr === undefined)
        throw new ControllersError(
          'BAD_CLUSTER_CIDR',
          `${flag}: "${part}" is no network such as 10.244.0.0/16`,
        );
      return cidr;
    });
}

function parseClusterCidrs(text: string): Cidr[] {
  const cidrs = parseNetworks('--cluster-cidr', text);
  const families = new Set(cidrs.map(({ family }) => family));
  if (families.size !== cidrs.length)
    throw new ControllersError('BAD_CLUSTER_CIDR', '--cluster-cidr: at most one network of each family');
  return cidrs;
}
