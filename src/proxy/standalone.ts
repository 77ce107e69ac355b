// A proxy on its own: mode, sync, health, metrics, from one configuration.
// Guarantees: ends in order on the signal and leaves the rules; with another mode than before, the old one's are removed.
import { readFile } from 'node:fs/promises';
import type { V1Node } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { Stored } from '../api/object.js';
import { NODES } from '../api/resources.js';
import type { Informers } from '../client/informer.js';
import { type ProxyConfig, trafficOf } from './config.js';
import { applyKernelSettings } from './kernelSettings.js';
import { MODE_NAMES } from './modeNames.js';
import { cleanUpModes, type ModeOptions, openBestMode, openMode, sharesChains } from './modes.js';
import { serveProxy } from './serving.js';
import type { IpFamily } from './state.js';

export interface StandaloneOptions {
  readonly config: ProxyConfig;
  readonly nodeName: string;
  readonly informers: Informers;
  readonly table: string;
  readonly families?: readonly IpFamily[];
  /** Modes whose remains are removed; all others when left out. */
  readonly formerModes?: readonly (typeof MODE_NAMES)[number][];
  readonly log: Log;
}

export interface StandaloneProxy {
  readonly mode: string;
  stop(): Promise<void>;
}

const NODE_WAIT_MS = 30_000;

export async function startProxy(options: StandaloneOptions): Promise<StandaloneProxy> {
  const { config, informers, nodeName, log } = options;
  const node = await findNode(options);
  const modeOptions = await modeOptionsOf(options, node);
  const mode = await chooseMode(config, modeOptions, log);
  const former = (options.formerModes ?? MODE_NAMES).filter((name) => name !== mode.name);
  const cleanUp = async (names: typeof former) => {
    for (const [name, error] of await cleanUpModes(names, modeOptions))
      log.warn('what another mode left could not be removed', { mode: name, error });
  };
  await cleanUp(former.filter((name) => sharesChains(name, mode.name)));
  for (const [setting, error] of await applyKernelSettings(config, mode.name))
    log.warn('a kernel setting could not be made', { setting, error });
  const serving = await serveProxy({ config, mode, informers, nodeName, mustListen: true, log });
  // The new rules are in place: connections go on, new ones go by them.
  await cleanUp(former.filter((name) => !sharesChains(name, mode.name)));
  return { mode: mode.name, stop: () => serving.stop() };
}

async function chooseMode(config: ProxyConfig, options: ModeOptions, log: Log) {
  if (config.mode === 'ipvs')
    log.warn('Kubernetes has deprecated the ipvs mode since 1.35; nftables takes its place', {});
  if (config.mode !== 'auto') return openMode(config.mode, options);
  const { mode, why } = await openBestMode(options);
  log.info('chose a proxy mode', { mode: mode.name, why });
  return mode;
}

async function modeOptionsOf(
  options: StandaloneOptions,
  node: Stored<V1Node> | undefined,
): Promise<ModeOptions> {
  const { config, table } = options;
  const ips = (node?.status.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => address);
  const podCidrs = node?.spec.podCIDRs ?? [];
  return {
    table,
    families: options.families ?? (await familiesHere()),
    traffic: trafficOf(config, { ips, podCidrs }),
    ipvs: {
      scheduler: config.ipvsScheduler,
      excludeCidrs: config.ipvsExcludeCidrs,
      strictArp: config.ipvsStrictArp,
    },
  };
}

async function familiesHere(): Promise<IpFamily[]> {
  const hasSix = await readFile('/proc/net/if_inet6').then(
    (text) => text.length > 0,
    () => false,
  );
  return hasSix ? ['ip', 'ip6'] : ['ip'];
}

/** The node's own object is needed for its addresses and pods' ranges; a proxy without it serves all the same. */
export async function findNode({
  informers,
  nodeName,
  log,
}: Pick<StandaloneOptions, 'informers' | 'nodeName' | 'log'>): Promise<Stored<V1Node> | undefined> {
  const nodes = informers.of(NODES, { fieldSelector: `metadata.name=${nodeName}` });
  await nodes.synced();
  if (nodes.get(nodeName) === undefined)
    log.info(`there is no Node of this name yet; it is waited for, at most ${NODE_WAIT_MS / 1000} s`, {
      node: nodeName,
    });
  const wait = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, NODE_WAIT_MS);
    const stop = nodes.on({
      added: () => {
        clearTimeout(timer);
        queueMicrotask(() => stop());
        resolve();
      },
    });
  });
  await wait;
  const node = nodes.get(nodeName);
  if (node === undefined) log.warn('this node is not known to the API server', { node: nodeName });
  return node;
}
