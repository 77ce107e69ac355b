// Which proxy mode has rules of this cluster in the kernel: the next start and `down` must know it.
// Guarantees: what it says is kept as long as the kernel keeps the rules: until a reboot, or until they are removed.
import path from 'node:path';
import type { Log } from '../api/log.js';
import { MODE_NAMES, type ModeName } from '../proxy/modeNames.js';
import { cleanUpModes, type ModeOptions, openBestMode, openMode } from '../proxy/modes.js';
import type { ProxyMode } from '../proxy/state.js';
import { readIfThere, writePrivate } from './files.js';
import type { Layout } from './layout.js';
import type { Settings } from './settings.js';

const fileOf = (layout: Layout) => path.join(layout.runDir, 'proxy-mode');

async function formerMode(layout: Layout): Promise<ModeName | undefined> {
  const text = (await readIfThere(fileOf(layout)))?.trim();
  return MODE_NAMES.find((name) => name === text);
}

/** Opens the mode of the settings, after what another mode of this cluster left is removed. */
export async function openProxyMode(
  { layout, settings, log }: { readonly layout: Layout; readonly settings: Settings; readonly log: Log },
  options: ModeOptions,
): Promise<ProxyMode> {
  const { proxyMode } = settings;
  const chosen =
    proxyMode === 'auto'
      ? await openBestMode(options)
      : { mode: await openMode(proxyMode, options), why: 'as asked' };
  const former = await formerMode(layout);
  if (former !== undefined && former !== chosen.mode.name) await removeMode(layout, former);
  await writePrivate(fileOf(layout), `${chosen.mode.name}\n`);
  log.info('chose a proxy mode', { mode: chosen.mode.name, why: chosen.why });
  return chosen.mode;
}

/** Removes the rules of the mode that ran last, if one did. */
export async function removeProxyRules(layout: Layout): Promise<void> {
  await removeMode(layout, (await formerMode(layout)) ?? 'nftables');
}

async function removeMode(layout: Layout, name: ModeName): Promise<void> {
  const options: ModeOptions = { table: layout.proxyTable, families: ['ip', 'ip6'], traffic: {} };
  for (const [, error] of await cleanUpModes([name], options)) throw error;
}
