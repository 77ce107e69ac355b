// Takes a pod's directory away: mounts first, then files.
// Guarantees: no link is followed and no file system is entered but the pod's own, so a hostPath is never touched; no name
// and no depth of what a pod wrote keeps it.
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { TreePort } from '../../kernel/tree/port.js';
import { KubeletError } from '../error.js';
import { isMissing, isWithin } from './files.js';
import { mountPoints, unmountBelow } from './mountTable.js';

/** Success also when it is gone already. `but` names an entry that stays, and the directory with it. */
export async function removePodDirectory(
  trees: TreePort,
  dir: string,
  { but }: { readonly but?: string } = {},
): Promise<void> {
  await unmountBelow(dir);
  const left = (await mountPoints()).find((point) => isWithin(point, dir));
  if (left !== undefined)
    throw new KubeletError('FailedMount', `${left} is still mounted; nothing below ${dir} was removed`);
  if (but === undefined) return trees.remove(dir);
  // These names are the kubelet's own.
  for (const name of await namesIn(dir)) if (name !== but) await trees.remove(path.join(dir, name));
}

async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
