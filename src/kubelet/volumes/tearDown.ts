// Takes a pod's directory away: mounts first, then files.
// Guarantees: no link is followed and no file system is entered but the pod's own, so a hostPath is never touched.
import { lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { KubeletError } from '../error.js';
import { codeOf, isMissing, isWithin } from './files.js';
import { mountPoints, unmountBelow } from './mountTable.js';

/** Success also when it is gone already. */
export async function removePodDirectory(dir: string): Promise<void> {
  let device: number;
  try {
    device = (await lstat(path.dirname(dir))).dev;
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  await unmountBelow(dir);
  // The device number alone would not show a bind mount of the same file system.
  const left = (await mountPoints()).find((point) => isWithin(point, dir));
  if (left !== undefined)
    throw new KubeletError('FailedMount', `${left} is still mounted; nothing below ${dir} was removed`);
  await removeTree(dir, device);
}

async function removeTree(entry: string, device: number): Promise<void> {
  try {
    const found = await lstat(entry);
    if (found.dev !== device)
      throw new KubeletError('FailedMount', `${entry} lies on another file system and was not removed`);
    if (!found.isDirectory()) return await unlink(entry);
    for (const name of await readdir(entry)) await removeTree(path.join(entry, name), device);
    await rmdir(entry);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}
