// A path of the node itself, checked to be what the pod says it is.
// Guarantees: nothing is ever removed here; only the two types that say so create, and never over something.

import type { Stats } from 'node:fs';
import { lstat, mkdir, open, stat } from 'node:fs/promises';
import type { V1HostPathVolumeSource } from '../../api/gen/types.js';
import { KubeletError } from '../error.js';
import { codeOf, isMissing } from './files.js';

interface Check {
  readonly noun: string;
  is(found: Stats): boolean;
}

const CHECKS: Readonly<Record<string, Check>> = {
  Directory: { noun: 'a directory', is: (found) => found.isDirectory() },
  DirectoryOrCreate: { noun: 'a directory', is: (found) => found.isDirectory() },
  File: { noun: 'a file', is: (found) => found.isFile() },
  FileOrCreate: { noun: 'a file', is: (found) => found.isFile() },
  Socket: { noun: 'a socket file', is: (found) => found.isSocket() },
  CharDevice: { noun: 'a character device', is: (found) => found.isCharacterDevice() },
  BlockDevice: { noun: 'a block device', is: (found) => found.isBlockDevice() },
};

export async function setUpHostPath({ path, type = '' }: V1HostPathVolumeSource): Promise<string> {
  if (path.split('/').includes('..') || path.includes('\0'))
    throw new KubeletError('FailedMount', `invalid HostPath \`${path}\`: must not contain '..'`);
  if (type === '') return path;
  const check = CHECKS[type];
  if (check === undefined) throw new KubeletError('FailedMount', `${type} is an invalid volume type`);
  if (type === 'DirectoryOrCreate') await createDirectory(path);
  if (type === 'FileOrCreate') await createFile(path);
  const found = await statOrUndefined(path);
  if (found === undefined || !check.is(found))
    throw new KubeletError('FailedMount', `hostPath type check failed: ${path} is not ${check.noun}`);
  return path;
}

async function createDirectory(path: string): Promise<void> {
  if ((await statOrUndefined(path)) === undefined) await mkdir(path, { recursive: true, mode: 0o755 });
}

async function createFile(path: string): Promise<void> {
  if ((await linkStat(path)) !== undefined) return;
  try {
    await (await open(path, 'wx', 0o644)).close();
  } catch (error) {
    if (codeOf(error) === 'ENOENT')
      throw new KubeletError('FailedMount', `open ${path}: no such file or directory`, { cause: error });
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

const statOrUndefined = (path: string) => stat(path).catch(undefinedIfMissing);
const linkStat = (path: string) => lstat(path).catch(undefinedIfMissing);

function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
