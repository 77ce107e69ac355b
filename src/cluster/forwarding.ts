// Forwarding of packets, which a node needs and a machine may have switched off.
// Guarantees: put back by the last cluster of the machine's network that goes, and only while no other program has a bridge there.
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { RoutePort } from '../kernel/route/port.js';
import {
  changeSettings,
  readSetting,
  restoreSettings,
  type SettingsDirs,
  SYSCTLS,
} from './networkSettings.js';

const NOTE = 'forwarding.json';
const FORWARDING = { IPv4: 'ipv4/ip_forward', IPv6: 'ipv6/conf/all/forwarding' };

/** Without it a node drops what is for a pod behind its bridge. */
export async function forwardPackets(dirs: SettingsDirs, clusterCidrs: readonly string[]): Promise<void> {
  const { sysctls = SYSCTLS } = dirs;
  const has = (sign: string) => clusterCidrs.some((cidr) => cidr.includes(sign));
  const wanted = new Map<string, string>();
  // A router takes no default route from the routers around it, unless it is told to: the host keeps its own.
  if (has(':') && (await readSetting(sysctls, FORWARDING.IPv6)) === '0')
    for (const name of await devicesThatLearn(sysctls)) wanted.set(name, '2');
  if (has(':')) wanted.set(FORWARDING.IPv6, '1');
  if (has('.')) wanted.set(FORWARDING.IPv4, '1');
  await changeSettings(dirs, NOTE, wanted);
}

/** Called when nothing of the cluster is left in the network; success also when nothing was changed. */
export const restoreForwarding = (dirs: SettingsDirs, route: Pick<RoutePort, 'links'>): Promise<void> =>
  // Whoever started later found forwarding switched on, and may count on it.
  restoreSettings(dirs, NOTE, async () => !(await route.links()).some(({ type }) => type === 'bridge'));

async function devicesThatLearn(sysctls: string): Promise<string[]> {
  const names = (await readdir(path.join(sysctls, 'ipv6/conf'))).map(
    (device) => `ipv6/conf/${device}/accept_ra`,
  );
  const values = await Promise.all(names.map((name) => readSetting(sysctls, name)));
  return names.filter((_, at) => values[at] === '1');
}
