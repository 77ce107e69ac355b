// Forwarding of packets, which a node needs and a machine may have switched off.
// Guarantees: what was changed is written down before it is changed, so that it is put back also after a crash: by the last
// cluster of the machine's network that goes, and only while no other program has a bridge there.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { RoutePort } from '../kernel/route/port.js';
import type { Layout } from './layout.js';
import { type NetworkNote, notesOf, ownNetns, readNote, writeNote } from './networkNotes.js';

interface Place {
  readonly layout: Pick<Layout, 'runDir'>;
  /** Where the kernel shows the settings of this process's network. */
  readonly sysctls?: string;
}

interface Note extends NetworkNote {
  /** What the kernel's settings were, by their names below `sysctls`. */
  readonly before: Readonly<Record<string, string>>;
}

const SYSCTLS = '/proc/sys/net';
const NOTE = 'forwarding.json';
const FORWARDING = { IPv4: 'ipv4/ip_forward', IPv6: 'ipv6/conf/all/forwarding' };

/** Without it a node drops what is for a pod behind its bridge. */
export async function forwardPackets(place: Place, clusterCidrs: readonly string[]): Promise<void> {
  const { layout, sysctls = SYSCTLS } = place;
  const has = (sign: string) => clusterCidrs.some((cidr) => cidr.includes(sign));
  const wanted = new Map<string, string>();
  // A router takes no default route from the routers around it, unless it is told to: the host keeps its own.
  if (has(':') && (await isOff(sysctls, FORWARDING.IPv6)))
    for (const name of await devicesThatLearn(sysctls)) wanted.set(name, '2');
  if (has(':')) wanted.set(FORWARDING.IPv6, '1');
  if (has('.')) wanted.set(FORWARDING.IPv4, '1');
  const netns = await ownNetns();
  const notes = await notesOf<Note>(layout, NOTE, { netns });
  const before: Record<string, string> = {};
  for (const [name, value] of wanted) {
    const is = await readSysctl(sysctls, name);
    if (is !== undefined && is !== value) before[name] = is;
  }
  // What another cluster has changed is ours to put back if it goes first.
  const note: Note = { netns, before: Object.assign(before, ...notes.map((one) => one.before)) };
  await writeNote(layout, NOTE, note);
  for (const [name, value] of wanted) if (name in before) await writeSysctl(sysctls, name, value);
}

/** Called when nothing of the cluster is left in the network; success also when nothing was changed. */
export async function restoreForwarding(place: Place, route: Pick<RoutePort, 'links'>): Promise<void> {
  const { layout, sysctls = SYSCTLS } = place;
  const note = await readNote<Note>(layout.runDir, NOTE);
  if (note === undefined || note.netns !== (await ownNetns())) return;
  const others = await notesOf<Note>(layout, NOTE, { netns: note.netns, except: layout.runDir });
  // Whoever started later found forwarding switched on, and may count on it.
  const hasBridges = (await route.links()).some(({ type }) => type === 'bridge');
  if (others.length > 0 || hasBridges) return;
  for (const [name, value] of Object.entries(note.before)) await writeSysctl(sysctls, name, value);
}

const isOff = async (sysctls: string, name: string) => (await readSysctl(sysctls, name)) === '0';

async function devicesThatLearn(sysctls: string): Promise<string[]> {
  const names = (await readdir(path.join(sysctls, 'ipv6/conf'))).map(
    (device) => `ipv6/conf/${device}/accept_ra`,
  );
  const values = await Promise.all(names.map((name) => readSysctl(sysctls, name)));
  return names.filter((_, at) => values[at] === '1');
}

/** Undefined where there is none: a device may go away at any time. */
async function readSysctl(sysctls: string, name: string): Promise<string | undefined> {
  return (await readFile(path.join(sysctls, name), 'utf8').catch(() => undefined))?.trim();
}

async function writeSysctl(sysctls: string, name: string, value: string): Promise<void> {
  await writeFile(path.join(sysctls, name), value).catch((error: NodeJS.ErrnoException) => {
    // The device is gone.
    if (error.code !== 'ENOENT') throw error;
  });
}
