// Which proxy mode has rules of this cluster in the kernel: the next start and `down` must know it.
// Guarantees: what it says is kept as long as the kernel keeps the rules: until a reboot, or until they are removed.
import path from 'node:path';
import type { ProxyMode } from '../../proxy-modes/mode.js';
import type { Log } from '../api/log.js';
import { openNft } from '../kernel/nftables/adapter.js';
import type { NftPort } from '../kernel/nftables/port.js';
import { ipvsOf, type ProxyConfig, settle, trafficOf } from '../proxy/config.js';
import { MODE_NAMES, type ModeName } from '../proxy/modeNames.js';
import { cleanUpModes, type ModeOptions, openBestMode, openMode } from '../proxy/modes.js';
import { claimChains } from '../proxy/soleProxy.js';
import { savedProxy } from './componentFiles.js';
import { readIfThere, writePrivate } from './files.js';
import { removeUnusedTables, tablesOfIptables } from './iptablesTables.js';
import type { Layout } from './layout.js';
import type { Settings } from './settings.js';

const fileOf = (layout: Layout) => path.join(layout.runDir, 'proxy-mode');

interface Note {
  readonly mode: ModeName | undefined;
  /** The tables of the iptables tool that were there before the cluster was. */
  readonly tables: readonly string[];
}

/** A line for the mode, then one for each table. */
async function readNote(layout: Layout): Promise<Note | undefined> {
  const text = await readIfThere(fileOf(layout));
  if (text === undefined) return undefined;
  const [mode, ...tables] = text.split('\n').filter((line) => line !== '');
  return { mode: MODE_NAMES.find((name) => name === mode), tables };
}

interface OpenOptions {
  readonly layout: Layout;
  readonly settings: Pick<Settings, 'proxyMode'>;
  readonly log: Log;
  /** Where proxies claim the chains that they share. */
  readonly lockDir?: string;
}

interface OpenedMode {
  readonly mode: ProxyMode;
  /** Lets another proxy have the rules; to be called after the mode is closed. */
  release(): void;
}

/** Opens the mode of the settings, after what another mode of this cluster left is removed. Rejects where another proxy has them. */
export async function openProxyMode(
  { layout, settings, log, lockDir }: OpenOptions,
  optionsFor: (name: ModeName) => Promise<ModeOptions>,
): Promise<OpenedMode> {
  const { proxyMode } = settings;
  const former = await readNote(layout);
  const tables = former?.tables ?? (await withNft(tablesOfIptables));
  const chosen =
    proxyMode === 'auto'
      ? await openBestMode(optionsFor)
      : { mode: await openMode(proxyMode, await optionsFor(proxyMode)), why: 'as asked' };
  const claim = await Promise.resolve(
    claimChains(chosen.mode.name, { log, ...(lockDir === undefined ? {} : { dir: lockDir }) }),
  ).catch((error: unknown) => {
    chosen.mode.close();
    throw error;
  });
  if (former?.mode !== undefined && former.mode !== chosen.mode.name) await removeMode(layout, former.mode);
  await writePrivate(fileOf(layout), [chosen.mode.name, ...tables, ''].join('\n'));
  log.info('chose a proxy mode', { mode: chosen.mode.name, why: chosen.why });
  return { mode: chosen.mode, release: () => claim?.release() };
}

/** Removes the rules of the mode that ran last, if one did. */
export async function removeProxyRules(layout: Layout): Promise<void> {
  const note = await readNote(layout);
  await removeMode(layout, note?.mode ?? 'nftables');
  if (note !== undefined) await withNft((nft) => removeUnusedTables(nft, note.tables));
}

async function withNft<T>(work: (nft: NftPort) => Promise<T>): Promise<T> {
  const nft = await openNft();
  try {
    return await work(nft);
  } finally {
    nft.close();
  }
}

async function removeMode(layout: Layout, name: ModeName): Promise<void> {
  for (const [, error] of await cleanUpModes([name], await removalOptions(layout, name))) throw error;
}

/** With networks that the cluster's file excludes; without a file that can be read, none is. */
export async function removalOptions(layout: Layout, name: ModeName): Promise<ModeOptions> {
  const { ipvs } = modeOptions(layout, settle(await savedProxy(layout, name).catch(() => ({}))));
  return { table: layout.proxyTable, families: ['ip', 'ip6'], traffic: {}, ...(ipvs && { ipvs }) };
}

/** What a mode of this node is made with. Pure. */
export function modeOptions(
  { proxyTable }: Pick<Layout, 'proxyTable'>,
  config: ProxyConfig,
  node: Parameters<typeof trafficOf>[1] = { ips: [], podCidrs: [] },
): ModeOptions {
  return {
    table: proxyTable,
    families: config.clusterCidrs.map((cidr) => (cidr.includes(':') ? 'ip6' : 'ip')),
    traffic: trafficOf(config, node),
    ipvs: ipvsOf(config),
  };
}
