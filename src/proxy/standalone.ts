// A proxy on its own: mode, sync, health, metrics, from one configuration.
// Guarantees: ends in order on the signal and leaves the rules; with another mode than before, the old one's are removed;
// where another proxy keeps the same table or the same chains, nothing of them is touched.
import { readFile } from 'node:fs/promises';
import type { IpFamily, ProxyMode } from '../../proxy-modes/mode.js';
import type { V1Node } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { Stored } from '../api/object.js';
import { NODES } from '../api/resources.js';
import type { Informers } from '../client/informer.js';
import type { FileLock } from '../kernel/fileLock.js';
import { ipvsOf, type ProxyConfig, trafficOf } from './config.js';
import { ProxyError } from './error.js';
import { applyKernelSettings } from './kernelSettings.js';
import { MODE_NAMES, type ModeName } from './modeNames.js';
import { cleanUpModes, type ModeOptions, openBestMode, openMode, sharesChains } from './modes.js';
import { type ServingOptions, serveProxy } from './serving.js';
import { claimTable, SHARED_CHAINS } from './soleProxy.js';

export interface StandaloneOptions {
  readonly config: ProxyConfig;
  /** The configuration where the machine has chosen the mode; `config` when left out. */
  configFor?(mode: ModeName): ProxyConfig;
  readonly nodeName: string;
  readonly informers: Informers;
  readonly table: string;
  readonly families?: readonly IpFamily[];
  /** Tells of a service of which something cannot be programmed. */
  readonly refused?: ServingOptions['refused'];
  readonly log: Log;
  /** Where the file is that only one proxy of this network and table can lock. */
  readonly lockDir?: string;
}

export interface StandaloneProxy {
  readonly mode: string;
  stop(): Promise<void>;
}

const NODE_WAIT_MS = 30_000;
/** As kube-proxy has it. */
const RANGE_WAIT_MS = 300_000;
const hasPodRange = ({ spec }: Stored<V1Node>) => (spec.podCIDRs ?? []).length > 0;

export async function startProxy(options: StandaloneOptions): Promise<StandaloneProxy> {
  const { table, log, lockDir } = options;
  const claim = await claimTable({ table, log, ...(lockDir === undefined ? {} : { dir: lockDir }) });
  try {
    const { mode, stop } = await startAlone(options);
    return { mode, stop: () => stop().finally(() => claim.release()) };
  } catch (error) {
    claim.release();
    throw error;
  }
}

async function startAlone(options: StandaloneOptions): Promise<StandaloneProxy> {
  const { config, nodeName, log } = options;
  const isByRange = config.detectLocalMode === 'NodeCIDR';
  const node = await findNode(options, isByRange ? { until: hasPodRange, waitMs: RANGE_WAIT_MS } : {});
  if (isByRange && (node === undefined || !hasPodRange(node)))
    throw new ProxyError(
      'BAD_CONFIG',
      `detectLocalMode NodeCIDR needs the range of pods of this node, and ${nodeName} was given none in ${RANGE_WAIT_MS / 60_000} minutes`,
    );
  const families = options.families ?? (await familiesHere());
  const configFor = (name: ModeName) => options.configFor?.(name) ?? config;
  const optionsFor = (name: ModeName) =>
    modeOptionsOf({ table: options.table, families, config: configFor(name) }, node);
  const mode = await chooseMode(config, optionsFor, log);
  const chains = await chainsFor(mode, options);
  const chosen = { config: configFor(mode.name), modeOptions: optionsFor(mode.name) };
  try {
    return await startMode({ ...options, ...chosen, mode, chains });
  } catch (error) {
    chains?.release();
    throw error;
  }
}

interface Chosen extends StandaloneOptions {
  readonly mode: ProxyMode;
  readonly modeOptions: ModeOptions;
  /** The claim on the chains of the other modes; undefined: somebody else's, which stay as they are. */
  readonly chains: FileLock | undefined;
}

/** A mode with a table of its own needs the chains only to remove what is left of them. */
async function chainsFor(mode: ProxyMode, { log, lockDir }: StandaloneOptions) {
  const claim = { table: SHARED_CHAINS, log, ...(lockDir === undefined ? {} : { dir: lockDir }) };
  return claimTable(claim).catch((error: unknown) => {
    if (mode.name === 'nftables' && error instanceof ProxyError) {
      log.info('another proxy has rules in iptables or IPVS; they are left alone', { error });
      return undefined;
    }
    mode.close();
    throw error;
  });
}

async function startMode(options: Chosen): Promise<StandaloneProxy> {
  const { config, informers, nodeName, mode, modeOptions, chains, log } = options;
  const names = chains === undefined ? [] : MODE_NAMES;
  const former = names.filter((name) => name !== mode.name);
  const cleanUp = async (names: typeof former) => {
    for (const [name, error] of await cleanUpModes(names, modeOptions))
      log.warn('what another mode left could not be removed', { mode: name, error });
  };
  await cleanUp(former.filter((name) => sharesChains(name, mode.name)));
  const setUp = async (when: 'before-rules' | 'after-rules') => {
    for (const [setting, error] of await applyKernelSettings(config, mode.name, when))
      log.warn('a kernel setting could not be made', { setting, error });
  };
  await setUp('before-rules');
  const told = options.refused && { refused: options.refused };
  const serving = await serveProxy({ config, mode, informers, nodeName, ...told, log });
  await setUp('after-rules');
  // The new rules are in place: connections go on, new ones go by them.
  await cleanUp(former.filter((name) => !sharesChains(name, mode.name)));
  if (mode.name === 'nftables') chains?.release();
  return { mode: mode.name, stop: () => serving.stop().finally(() => chains?.release()) };
}

async function chooseMode(config: ProxyConfig, optionsFor: (name: ModeName) => ModeOptions, log: Log) {
  if (config.mode === 'ipvs')
    log.warn('Kubernetes has deprecated the ipvs mode since 1.35; nftables takes its place', {});
  if (config.mode !== 'auto') return openMode(config.mode, optionsFor(config.mode));
  const { mode, why } = await openBestMode(optionsFor);
  log.info('chose a proxy mode', { mode: mode.name, why });
  return mode;
}

/** The first of a family is the primary one: what the configuration says goes before what the Node says. Pure. */
export function nodeIps(
  { bindAddress }: Pick<ProxyConfig, 'bindAddress'>,
  node: Stored<V1Node> | undefined,
): readonly string[] {
  const told = (node?.status.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => address);
  return ['0.0.0.0', '::', ''].includes(bindAddress) ? told : [bindAddress, ...told];
}

function modeOptionsOf(
  { config, table, families }: Pick<ModeOptions, 'table' | 'families'> & { readonly config: ProxyConfig },
  node: Stored<V1Node> | undefined,
): ModeOptions {
  const podCidrs = node?.spec.podCIDRs ?? [];
  return {
    table,
    families,
    traffic: trafficOf(config, { ips: nodeIps(config, node), podCidrs }),
    ipvs: ipvsOf(config),
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
export async function findNode(
  { informers, nodeName, log }: Pick<StandaloneOptions, 'informers' | 'nodeName' | 'log'>,
  options: { readonly until?: (node: Stored<V1Node>) => boolean; readonly waitMs?: number } = {},
): Promise<Stored<V1Node> | undefined> {
  const { until = () => true, waitMs = NODE_WAIT_MS } = options;
  const nodes = informers.of(NODES, { fieldSelector: `metadata.name=${nodeName}` });
  await nodes.synced();
  const isReady = () => {
    const node = nodes.get(nodeName);
    return node !== undefined && until(node);
  };
  if (!isReady()) {
    const what =
      nodes.get(nodeName) === undefined
        ? 'there is no Node of this name yet'
        : 'the Node has no range of pods yet';
    log.info(`${what}; it is waited for, at most ${waitMs / 1000} s`, { node: nodeName });
  }
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      queueMicrotask(() => stop());
      resolve();
    };
    const look = () => {
      if (isReady()) end();
    };
    const timer = setTimeout(end, waitMs);
    const stop = nodes.on({ added: look, updated: look });
  });
  const node = nodes.get(nodeName);
  if (node === undefined) log.warn('this node is not known to the API server', { node: nodeName });
  return node;
}
