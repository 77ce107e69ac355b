// Records of the clusters of this machine about the network they share: what they changed, until the last of them ends.
// Guarantees: records of other network namespaces are never returned.
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { readIfThere, writePrivate } from './files.js';
import type { Layout } from './layout.js';

export interface NetworkNote {
  /** The network that it is about. */
  readonly netns: number;
}

export const ownNetns = async (): Promise<number> => (await stat('/proc/self/ns/net')).ino;

/** Of every cluster that runs in a network; this one's comes last, as it knows best. */
export async function notesOf<N extends NetworkNote>(
  { runDir }: Pick<Layout, 'runDir'>,
  name: string,
  { netns, except }: { readonly netns: number; readonly except?: string },
): Promise<N[]> {
  const parent = path.dirname(runDir);
  const all = (await readdir(parent).catch(() => [])).map((entry) => path.join(parent, entry));
  const dirs = [...all.filter((dir) => dir !== runDir), runDir].filter((dir) => dir !== except);
  const notes = await Promise.all(dirs.map((dir) => readNote<N>(dir, name)));
  return notes.filter((note) => note !== undefined).filter((note) => note.netns === netns);
}

export async function readNote<N extends NetworkNote>(runDir: string, name: string): Promise<N | undefined> {
  const text = await readIfThere(path.join(runDir, name)).catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

export const writeNote = (
  { runDir }: Pick<Layout, 'runDir'>,
  name: string,
  note: NetworkNote,
): Promise<void> => writePrivate(path.join(runDir, name), `${JSON.stringify(note)}\n`);
