// The kernel's settings that the proxy of a node is asked to make, such as the times of connection tracking.
// Guarantees: `down` puts back what was there, unless another cluster of the machine's network still needs them.
import path from 'node:path';
import type { Log } from '../api/log.js';
import type { ProxyConfig } from '../proxy/config.js';
import { type Moment, settingsToMake } from '../proxy/kernelSettings.js';
import { changeSettings, restoreSettings, type SettingsDirs, SYSCTLS } from './networkSettings.js';

const NOTE = 'proxy-settings.json';
const NET = 'net/';

interface Wanted {
  readonly config: ProxyConfig;
  readonly mode: string;
  readonly when: Moment;
  readonly log: Log;
}

export async function makeProxySettings(
  dirs: SettingsDirs,
  { config, mode, when, log }: Wanted,
): Promise<void> {
  const all = path.dirname(dirs.sysctls ?? SYSCTLS);
  for (const [name, value] of await settingsToMake(config, mode, when, all))
    await changeSettings(dirs, NOTE, new Map([[name.slice(NET.length), String(value)]])).catch(
      (error: unknown) => log.warn('a kernel setting could not be made', { setting: name, error }),
    );
}

export const restoreProxySettings = (dirs: SettingsDirs): Promise<void> => restoreSettings(dirs, NOTE);
