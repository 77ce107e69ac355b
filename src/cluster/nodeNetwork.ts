// The pod network of a node as its Node tells its ranges: set up once they are known, and anew when they change.
// Guarantees: nothing of other ranges stays: no address of the bridge, and no pod, which is made again with an address of
// these; a failure is tried again; ending it leaves the network in place.
import { writeFile } from 'node:fs/promises';
import type { V1Node } from '../api/gen/types.js';
import { contains, parseCidr } from '../api/ip.js';
import type { Log } from '../api/log.js';
import type { Stored } from '../api/object.js';
import { NODES } from '../api/resources.js';
import { pause } from '../base/deadline.js';
import type { Client } from '../client/client.js';
import { makeEventRecorder, referenceTo } from '../client/eventRecorder.js';
import type { Informer, Informers } from '../client/informer.js';
import { openRuntime } from '../cri/client.js';
import { CriError } from '../cri/error.js';
import type { PodSandboxStatus, RuntimeService } from '../cri/runtime.js';
import { openNft } from '../kernel/nftables/adapter.js';
import { openOffload } from '../kernel/offload.js';
import { openRoute } from '../kernel/route/adapter.js';
import type { RoutePort } from '../kernel/route/port.js';
import { AcceptedForward, openEachIptables } from '../network/acceptedForward.js';
import { KeptTable } from '../network/keptTable.js';
import { Overlay, podMtu, subnetFile } from '../network/overlay/overlay.js';
import { makeBridge, setUpPodNetwork, writtenRanges } from '../network/podNetwork.js';
import type { Layout } from './layout.js';
import { rangesOf, type Settings } from './settings.js';

const AGAIN_MS = 1_000;

interface NodeNetworkOptions {
  readonly layout: Layout;
  readonly settings: Settings;
  readonly nodeIps: readonly [string, ...string[]];
  readonly signal: AbortSignal;
  readonly log: Log;
  /** The Node of this machine alone. */
  readonly self: Informer<V1Node>;
  /** The kubelet's: what a node tells of itself is on its Node, which is the kubelet's to write. */
  readonly client: Client;
  /** By whom other Nodes are read, and events told. */
  readonly reader: Promise<{ readonly client: Client; readonly informers: Informers }>;
  /** Told of the ranges before any pod can have an address of them. */
  ranges(podCidrs: readonly string[]): Promise<void>;
}

/**
 * A runtime that finds the network of an earlier run makes pods at once, static ones also before an API server answers, and
 * after a reboot the kernel has neither the rules nor the bridge. So both are there before the kubelet is.
 */
export async function closeWrittenNetwork({
  layout,
  ranges,
}: Pick<NodeNetworkOptions, 'layout' | 'ranges'>): Promise<void> {
  const written = await writtenRanges(layout.cniConfigDir);
  if (written.length === 0) return;
  await ranges(written);
  const route = await openRoute();
  await makeBridge(layout.bridge, route).finally(() => route.close());
}

interface Ports {
  readonly rules: KeptTable;
  readonly forward: AcceptedForward;
  readonly route: RoutePort;
  readonly runtime: RuntimeService;
}

/** Resolves, once the node has its ranges and the network is set up, to the function that ends it. */
export async function startNodeNetwork(options: NodeNetworkOptions): Promise<() => Promise<void>> {
  const { layout, settings, nodeIps, self, client } = options;
  const log = options.log.with({ part: 'overlay' });
  const [nft, route] = await Promise.all([openNft(), openRoute()]);
  const rules = new KeptTable({ nft, name: layout.networkTable, log });
  const forward = new AcceptedForward({
    iptables: await openEachIptables(),
    chain: layout.forwardChain,
    log,
  });
  const runtime = openRuntime(`unix://${layout.containerdSocket}`);
  const followed = await followRanges(self, {
    setUp: (node) => setUp(options, node, { rules, forward, route, runtime: runtime.runtime }),
    log,
    signal: options.signal,
  });
  const reader = await options.reader;
  const recorder = makeEventRecorder(reader.client, {
    component: 'overlay',
    host: settings.nodeName,
    log,
  });
  const overlay = new Overlay({
    nodeName: settings.nodeName,
    backend: settings.overlay,
    vni: settings.vni,
    nodeIps,
    clusterCidrs: rangesOf(settings.clusterCidr),
    serviceCidrs: rangesOf(settings.serviceCidr),
    refused: (node, why) =>
      recorder.event(referenceTo(NODES, node), 'Warning', 'OverlayRefused', `${settings.nodeName}: ${why}`),
    devices: layout.overlayDevices,
    client,
    informers: reader.informers,
    route,
    nft,
    nftTable: layout.carrierTable,
    offload: openOffload(),
    log,
  });
  return async () => {
    await followed.stop();
    await overlay.stop();
    await rules.stop();
    await forward.stop();
    nft.close();
    route.close();
    runtime.close();
  };
}

interface Following {
  /** Does the work for a Node that has ranges. */
  setUp(node: Stored<V1Node>): Promise<void>;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Resolves when it was done for the first ranges; then once for every change of them, one at a time, the last one wins. */
function followRanges(
  self: Informer<V1Node>,
  { setUp, log, signal }: Following,
): Promise<{ stop(): Promise<void> }> {
  const ending = new AbortController();
  let done = '';
  let running: Promise<void> | undefined;
  return new Promise((resolve, reject) => {
    const work = async () => {
      for (let node = latest(self); node !== undefined && rangesTold(node) !== done; node = latest(self)) {
        if (ending.signal.aborted) return;
        const isFirst = done === '';
        try {
          if (!isFirst)
            log.warn('the node has other pod networks now; its pods are made again', { was: done });
          await setUp(node);
          done = rangesTold(node);
          if (isFirst) resolve({ stop });
        } catch (error) {
          log.error('the pod network could not be set up, will try again', { error });
          if (isFirst) return reject(error);
          await pause(AGAIN_MS, ending.signal);
        }
      }
    };
    const look = () => {
      running ??= work().finally(() => {
        running = undefined;
      });
    };
    const off = self.on({ added: look, updated: look });
    const stop = async () => {
      off();
      ending.abort();
      await running;
    };
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

const latest = (self: Informer<V1Node>): Stored<V1Node> | undefined =>
  self.list().find((node) => rangesTold(node) !== '');

const rangesTold = ({ spec }: Stored<V1Node>): string => (spec.podCIDRs ?? []).join(',');

async function setUp(
  { layout, settings, nodeIps, ranges }: NodeNetworkOptions,
  node: Stored<V1Node>,
  { rules, forward, route, runtime }: Ports,
): Promise<void> {
  const mtus = nodeIps.map((ip) => podMtu(settings.overlay, ip, route));
  const mtu = Math.min(...(await Promise.all(mtus)));
  const clusterCidrs = rangesOf(settings.clusterCidr);
  const podCidrs = node.spec.podCIDRs ?? [];
  await ranges(podCidrs);
  await forward.set(clusterCidrs);
  await setUpPodNetwork(
    {
      name: layout.network,
      bridge: layout.bridge,
      podCidrs,
      clusterCidrs,
      nonMasqueradeCidrs: rangesOf(settings.nonMasqueradeCidrs),
      serviceCidrs: rangesOf(settings.serviceCidr),
      deniesSpoofing: settings.podSpoofing === 'deny',
      nodeIps,
      mtu,
      nftTable: layout.networkTable,
      configDir: layout.cniConfigDir,
      stateDir: layout.cniStateDir,
    },
    { rules, route },
  );
  await writeFile(layout.subnetFile, subnetFile(node, { clusterCidrs, mtu }), { mode: 0o600 });
  await endStrays(runtime, podCidrs);
}

/** Pods whose addresses lead to another node by now. The kubelet makes each of them again. */
async function endStrays(runtime: RuntimeService, podCidrs: readonly string[]): Promise<void> {
  // Again until none is left: one that was being made may still have got an address of before.
  for (let found = true; found; ) {
    found = false;
    for (const { id, state } of await runtime.listPodSandbox()) {
      const status = state === 'SANDBOX_READY' ? await statusOf(runtime, id) : undefined;
      if (status === undefined || !isStray(status, podCidrs)) continue;
      await runtime.stopPodSandbox(id);
      found = true;
    }
  }
}

async function statusOf(runtime: RuntimeService, id: string): Promise<PodSandboxStatus | undefined> {
  try {
    return await runtime.podSandboxStatus(id);
  } catch (error) {
    if (error instanceof CriError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

/** Pure: whether it has a pod address of another range; one in the node's own network has none. */
function isStray(
  { network, linux }: Pick<PodSandboxStatus, 'network' | 'linux'>,
  podCidrs: readonly string[],
): boolean {
  if (linux?.namespaces.options.network === 'NODE') return false;
  const ranges = podCidrs.flatMap((text) => parseCidr(text) ?? []);
  const ips = network === undefined ? [] : [network.ip, ...network.additionalIps.map(({ ip }) => ip)];
  return ips.some((ip) => ip !== '' && !ranges.some((range) => contains(range, ip)));
}
