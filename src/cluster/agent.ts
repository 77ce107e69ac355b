// The node agent's process: image registry, pod network, kubelet and proxy of this machine, joined in one process.
// Guarantees: ending it leaves pods, rules and connections in place for the next one.
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DNS_PORT_ANNOTATION } from '../api/dnsPort.js';
import type { V1Node } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { Stored } from '../api/object.js';
import { NODES, SERVICES } from '../api/resources.js';
import { VOLUME_DIR_ANNOTATION } from '../api/volumeDir.js';
import { type NodePart, ofEachPart } from '../apiserver/auth/defaults/nodeParts.js';
import { aborted } from '../base/aborted.js';
import type { Client } from '../client/client.js';
import { makeEventRecorder, referenceTo } from '../client/eventRecorder.js';
import { openHttps } from '../client/httpTransport.js';
import type { Informer, Informers } from '../client/informer.js';
import { openInformers } from '../client/sharedInformers.js';
import { SharedObjects } from '../client/sharedObjects.js';
import { openRuntime } from '../cri/client.js';
import { runDns } from '../dns/dns.js';
import { serversOf } from '../dns/forward.js';
import { openCgroups } from '../kernel/cgroup/adapter.js';
import { keepIdleMemorySmall } from '../kernel/idleMemory.js';
import type { Attached } from '../kubelet/podSandbox.js';
import { type KubeletProcessOptions, openKubelet } from '../kubelet/process.js';
import { makeAccess } from '../kubelet/server/access.js';
import { openPolicyEngine, type PolicyEngine } from '../network/policy/standalone.js';
import { traceRoutes } from '../network/policy/traceRoutes.js';
import { type ConfigOverrides, settle } from '../proxy/config.js';
import type { Moment } from '../proxy/kernelSettings.js';
import { serveProxy } from '../proxy/serving.js';
import { savedKubelet, savedProxy } from './componentFiles.js';
import { registryConfigDir } from './containerd/component.js';
import { registryHosts } from './containerd/config.js';
import { forwardPackets } from './forwarding.js';
import { busyboxImage, pauseImage, REGISTRY } from './images/builtin.js';
import { keepKubeletChains } from './kubeletChains.js';
import type { Layout } from './layout.js';
import { type NodeIdentity, openNodeIdentity, type PartClients } from './nodeIdentity.js';
import { closeWrittenNetwork, startNodeNetwork } from './nodeNetwork.js';
import { podNetns } from './podNetns.js';
import { modeOptions, openProxyMode } from './proxyMode.js';
import { makeProxySettings } from './proxySettings.js';
import { openRegistry } from './registry/server.js';
import { DNS_ADDRESS, serviceAddress } from './serviceAddress.js';
import { rangesOf, type Settings } from './settings.js';
import { type StepSink, step } from './steps.js';

export interface AgentOptions {
  readonly layout: Layout;
  readonly settings: Settings;
  /** The node's addresses, at most one a family; the first is its own. */
  readonly nodeIps: readonly [string, ...string[]];
  /** Our static pause program. */
  readonly pauseProgram: string;
  /** Ends it. */
  readonly signal: AbortSignal;
  readonly sink: StepSink;
  readonly log: Log;
}

interface Access {
  readonly client: Client;
  readonly informers: Informers;
}

const POLL_MS = 20;

/** Resolves when it has ended in order. */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { layout, settings, sink, signal, log } = options;
  const closers: (() => unknown)[] = [keepIdleMemorySmall()];
  // Times of the API are whole seconds.
  const startedAt = Math.floor(Date.now() / 1000) * 1000;
  try {
    const open = () => openNodeIdentity(options);
    const identity = await (settings.server === '' ? open() : step(sink, 'node certificate', open));
    closers.push(() => identity.close());
    const [registry] = await Promise.all([
      step(sink, 'image registry', () => serveImages(options, identity)),
      step(sink, 'containerd', () => waitForSocket(layout.containerdSocket, signal)),
    ]);
    closers.push(() => registry.close());
    const node = access(identity.kubelet, log);
    closers.push(() => node.informers.stop());
    const self = node.informers.of(NODES, { fieldSelector: `metadata.name=${settings.nodeName}` });
    const policies = await openPolicyEngine({
      nodeName: settings.nodeName,
      table: layout.policyTable,
      logsRefused: settings.policyLog === 'refused',
      log: log.with({ part: 'network-policy' }),
    });
    closers.push(() => policies.close());
    // Before the kubelet: the bridge plugin switches forwarding on too, and what was there before must be noted first.
    await forwardPackets({ layout }, rangesOf(settings.clusterCidr));
    const ranges = (podCidrs: readonly string[]) => policies.enforcer.setPodRanges(podCidrs);
    await closeWrittenNetwork({ layout, ranges });
    const attached: Attached = (pod, ips) => policies.enforcer.attach(pod, ips);
    const otherMetrics = metricsOf(policies, log);
    const otherPaths = tracesOf(options, policies);
    closers.push(await startKubelet(options, identity, { ...node, attached, otherMetrics, otherPaths }));
    // The kubelet runs what it knows of also without an apiserver; the others have nothing to do before it is ready, and no
    // tokens before the Node is there.
    const others = Promise.all([apiserverReady(identity, signal), when(self, signal, () => true)]).then(() =>
      accessOfParts(identity.parts, log),
    );
    closers.push(async () => {
      for (const { informers } of Object.values(await others)) informers.stop();
    });
    const reader = others.then(({ overlay }) => overlay);
    const network = step(sink, 'pod network', () =>
      startNodeNetwork({ ...options, self, client: node.client, reader, ranges }),
    );
    const policing = step(sink, 'network policies', async () => {
      policies.enforcer.follow((await others).networkPolicy.informers);
      await policies.enforcer.synced();
    });
    const rules = step(sink, 'service rules', async () => startProxy(options, self, (await others).proxy));
    const names = step(sink, 'cluster DNS', async () => startDns(options, (await others).nameServer));
    closers.push(tellOfNode(options, self, node, names));
    closers.push(await network, await rules, await names);
    await policing;
    await step(sink, 'node Ready', () => becomesReady(self, startedAt, signal));
    sink({ type: 'ready', who: 'agent' });
    await aborted(signal);
  } finally {
    await endAll(closers.reverse(), log);
  }
}

/** One that fails keeps none of the others from ending. */
async function endAll(closers: readonly (() => unknown)[], log: Log): Promise<void> {
  for (const closer of closers) {
    await Promise.resolve(closer()).catch((error: unknown) => log.error('could not end in order', { error }));
  }
}

const access = (client: Client, log: Log, shared?: SharedObjects): Access => ({
  client,
  informers: openInformers(client, { log, ...(shared === undefined ? {} : { shared }) }),
});

/** Each watches what it may see by itself; what two of them see is held once. */
function accessOfParts(parts: PartClients, log: Log): Readonly<Record<NodePart, Access>> {
  const shared = new SharedObjects();
  return ofEachPart((part) => access(parts[part], log, shared));
}

const metricsOf =
  ({ enforcer }: PolicyEngine, log: Log) =>
  () =>
    enforcer.metrics().catch((error: unknown) => {
      log.warn('the counters of network policies could not be read', { error });
      return '';
    });

/** `trellis policy explain --trace` asks for them. */
const tracesOf = ({ layout }: AgentOptions, { enforcer }: PolicyEngine) =>
  traceRoutes({
    tracer: enforcer.tracer,
    table: layout.policyTable,
    netnsOf: async (pod) => {
      const runtime = openRuntime(`unix://${layout.containerdSocket}`);
      return podNetns(runtime.runtime, pod).finally(() => runtime.close());
    },
  });

/** The runtime reads where the registry is at every pull: any free port will do. */
async function serveImages({ layout, pauseProgram }: AgentOptions, { registry: own }: NodeIdentity) {
  const images = await Promise.all([pauseImage(pauseProgram), busyboxImage()]);
  const registry = await openRegistry({ images, tls: own.tls, host: '127.0.0.1', port: 0 });
  const dir = path.join(registryConfigDir(layout), REGISTRY);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const hosts = registryHosts({ port: registry.port, caFile: own.caFile });
  await writeFile(path.join(dir, 'hosts.toml'), hosts, { mode: 0o600 });
  return registry;
}

/** With its roles in place: whoever asks before is refused, and waits longer to ask again. */
async function apiserverReady({ server, ca }: NodeIdentity, signal: AbortSignal): Promise<void> {
  const transport = openHttps({ server, ca });
  const isReady = async () => (await transport.request({ method: 'GET', path: '/readyz' })).status === 200;
  while (!(await isReady().catch(() => false))) await sleep(POLL_MS, undefined, { signal });
  transport.close();
}

async function waitForSocket(file: string, signal: AbortSignal): Promise<void> {
  while (!(await stat(file).catch(() => undefined))?.isSocket()) await sleep(POLL_MS, undefined, { signal });
}

async function startKubelet(
  { layout, settings, nodeIps, log: agentLog }: AgentOptions,
  identity: NodeIdentity,
  around: Access & Required<Pick<KubeletProcessOptions, 'attached' | 'otherMetrics' | 'otherPaths'>>,
) {
  const log = agentLog.with({ part: 'kubelet' });
  const { client } = around;
  const { servers, tls, close } = await openKubelet({
    ...around,
    config: {
      // Renewed four times in that span.
      nodeLeaseDurationSeconds: settings.nodeGraceSeconds,
      ...(await savedKubelet(layout)),
      nodeName: settings.nodeName,
      nodeIps,
      port: settings.kubeletPort,
      healthzPort: settings.kubeletHealthzPort,
      staticPodPath: layout.manifestDir,
      clusterDNS: [serviceAddress(settings, DNS_ADDRESS)],
      clusterDomain: settings.clusterDomain,
      rootDir: layout.kubeletDir,
      podLogsDir: layout.podLogDir,
      cgroupRoot: layout.cgroup,
    },
    runtimeEndpoint: `unix://${layout.containerdSocket}`,
    cgroups: await openCgroups(),
    log,
    serving: async () => ({
      tls: { ...identity.serving, clientCa: identity.ca },
      access: makeAccess({ client, nodeName: settings.nodeName, log }),
    }),
  });
  identity.keepServing((pair) => servers.renew({ ...tls, ...pair }));
  return close;
}

async function startProxy(options: AgentOptions, self: Informer<V1Node>, { client, informers }: Access) {
  const { layout, settings, nodeIps, signal, log } = options;
  const own = log.with({ part: 'proxy' });
  // Another cluster of this machine may have the ports: its neighbour serves without them.
  const ours = { minSyncPeriodMs: 20, conntrackMaxPerCore: 0, bindAddressHardFail: false };
  const configFor = async (mode: ConfigOverrides['mode']) =>
    settle(ours, await savedProxy(layout, mode), {
      clusterCidrs: rangesOf(settings.clusterCidr),
      hostnameOverride: settings.nodeName,
      mode: settings.proxyMode,
    });
  const { detectLocalMode } = await configFor(settings.proxyMode);
  const isByRange = detectLocalMode === 'NodeCIDR';
  const node = isByRange ? await when(self, signal, ({ spec }) => spec.podCIDR !== undefined) : undefined;
  const { mode, release } = await openProxyMode({ layout, settings, log: own }, async (name) =>
    modeOptions(layout, await configFor(name), { ips: nodeIps, podCidrs: node?.spec.podCIDRs ?? [] }),
  );
  const config = await configFor(mode.name);
  // After the mode has noted which tables were there before the cluster was.
  const { makeIPTablesUtilChains = true } = await savedKubelet(layout);
  const endChains = makeIPTablesUtilChains ? await keepKubeletChains(layout, { log: own }) : () => {};
  const kernel = (when: Moment) => makeProxySettings({ layout }, { config, mode: mode.name, when, log: own });
  await kernel('before-rules');
  const { nodeName } = settings;
  const recorder = makeEventRecorder(client, { component: 'kube-proxy', host: nodeName, log: own });
  const proxy = await serveProxy({
    config,
    mode,
    informers,
    nodeName,
    refused: (service, why) =>
      recorder.event(referenceTo(SERVICES, service), 'Warning', 'ProxyRefused', `${nodeName}: ${why}`),
    log: own,
  });
  await kernel('after-rules');
  return () => {
    endChains();
    return proxy.stop().finally(release);
  };
}

async function startDns({ settings, nodeIps, log }: AgentOptions, { informers }: Access) {
  const resolvConf = await readFile('/etc/resolv.conf', 'utf8').catch(() => '');
  const at = { address: nodeIps[0], port: settings.dnsPort };
  const server = await runDns({
    informers,
    domain: settings.clusterDomain,
    ...at,
    serves: rangesOf(settings.clusterCidr),
    upstreams: serversOf(resolvConf, { ...at, serviceAddress: serviceAddress(settings, DNS_ADDRESS) }),
    log: log.with({ part: 'dns' }),
  });
  return () => server.close();
}

/** Where its volumes are, and its name server once it answers: the cluster's DNS Service leads to those that nodes tell of. */
function tellOfNode(
  { layout, settings, log }: AgentOptions,
  self: Informer<V1Node>,
  { client }: Access,
  answering: Promise<unknown>,
): () => void {
  let isAnswering = false;
  const tell = async ({ metadata }: Stored<V1Node>) => {
    const wanted = {
      [VOLUME_DIR_ANNOTATION]: layout.volumeDir,
      ...(isAnswering ? { [DNS_PORT_ANNOTATION]: String(settings.dnsPort) } : {}),
    };
    const isTold = Object.entries(wanted).every(([key, value]) => metadata.annotations?.[key] === value);
    if (isTold) return;
    await client
      .of(NODES)
      .patch({ name: metadata.name }, 'merge', { metadata: { annotations: wanted } })
      .catch((error: unknown) => log.warn('the node could not tell of itself; again later', { error }));
  };
  answering.then(
    () => {
      isAnswering = true;
      self.list().forEach(tell);
    },
    () => {}, // the step tells why
  );
  return self.on({ added: tell, updated: tell });
}

/** Said by the kubelet of this process: what one before it said is still there at the start. */
async function becomesReady(self: Informer<V1Node>, since: number, signal: AbortSignal): Promise<void> {
  await when(self, signal, ({ status }) =>
    (status.conditions ?? []).some(
      ({ type, status: value, lastHeartbeatTime }) =>
        type === 'Ready' && value === 'True' && Date.parse(lastHeartbeatTime ?? '') >= since,
    ),
  );
}

/** The node as soon as it is so. */
function when(
  self: Informer<V1Node>,
  signal: AbortSignal,
  isSo: (node: Stored<V1Node>) => boolean,
): Promise<Stored<V1Node>> {
  return new Promise((resolve, reject) => {
    const look = (node: Stored<V1Node>) => {
      if (!isSo(node)) return;
      // The handler may be called while it is being added: it is taken off in the next turn.
      queueMicrotask(() => stop());
      resolve(node);
    };
    const stop = self.on({ added: look, updated: look });
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
