// Settings of the kernel's network that a cluster changes.
// Guarantees: what was changed is written down before it is changed, so that it is put back also after a crash, by the last
// cluster of the machine's network that goes.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Layout } from './layout.js';
import { type NetworkNote, notesOf, ownNetns, readNote, writeNote } from './networkNotes.js';

export interface SettingsDirs {
  readonly layout: Pick<Layout, 'runDir'>;
  /** Where the kernel shows the settings of this process's network. */
  readonly sysctls?: string;
}

interface Note extends NetworkNote {
  /** What the kernel's settings were, by their names below `sysctls`. */
  readonly before: Readonly<Record<string, string>>;
}

export const SYSCTLS = '/proc/sys/net';

/** By names below /proc/sys/net. What other settings of the same note were is kept. */
export async function changeSettings(
  { layout, sysctls = SYSCTLS }: SettingsDirs,
  noteName: string,
  wanted: ReadonlyMap<string, string>,
): Promise<void> {
  const netns = await ownNetns();
  const notes = await notesOf<Note>(layout, noteName, { netns });
  const before: Record<string, string> = {};
  for (const [name, value] of wanted) {
    const is = await readSetting(sysctls, name);
    if (is !== undefined && is !== value) before[name] = is;
  }
  const changed = Object.keys(before);
  // What another cluster has changed is ours to put back if it goes first.
  const note: Note = { netns, before: Object.assign(before, ...notes.map((one) => one.before)) };
  await writeNote(layout, noteName, note);
  for (const name of changed) await writeSetting(sysctls, name, wanted.get(name) ?? '');
}

/** Success also when nothing was changed. `mayRestore` is asked when no other cluster of the network needs them. */
export async function restoreSettings(
  { layout, sysctls = SYSCTLS }: SettingsDirs,
  noteName: string,
  mayRestore: () => Promise<boolean> = async () => true,
): Promise<void> {
  const note = await readNote<Note>(layout.runDir, noteName);
  if (note === undefined || note.netns !== (await ownNetns())) return;
  const others = await notesOf<Note>(layout, noteName, { netns: note.netns, except: layout.runDir });
  if (others.length > 0 || !(await mayRestore())) return;
  for (const [name, value] of Object.entries(note.before)) await writeSetting(sysctls, name, value);
}

/** Undefined where there is none: a device may go away at any time. */
export async function readSetting(sysctls: string, name: string): Promise<string | undefined> {
  return (await readFile(path.join(sysctls, name), 'utf8').catch(() => undefined))?.trim();
}

async function writeSetting(sysctls: string, name: string, value: string): Promise<void> {
  await writeFile(path.join(sysctls, name), value).catch((error: NodeJS.ErrnoException) => {
    // The device is gone.
    if (error.code !== 'ENOENT') throw error;
  });
}
