// A directory that lives as long as its pod, on disk or in memory.
// Guarantees: made once; its contents are never touched again, whatever else is set up anew.
import { chmod, lstat, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { V1EmptyDirVolumeSource } from '../../api/gen/types.js';
import { tryParseQuantity } from '../../api/quantity.js';
import { KubeletError } from '../error.js';
import { element, isMissing, podDir } from './files.js';
import { holdsFileSystem, mountTmpfs } from './mountTable.js';
import { ownByGroup } from './ownership.js';

export async function setUpEmptyDir(options: {
  readonly rootDir: string;
  readonly podUid: string;
  readonly volume: string;
  readonly dir: string;
  readonly source: V1EmptyDirVolumeSource;
  readonly fsGroup: number | undefined;
}): Promise<void> {
  const { rootDir, podUid, volume, dir, source, fsGroup } = options;
  const { medium = '' } = source;
  if (medium !== '' && medium !== 'Memory')
    throw new KubeletError('FailedMount', `unknown storage medium ${JSON.stringify(medium)}`);
  const plugin = path.join(podDir(rootDir, podUid), 'plugins', 'kubernetes.io~empty-dir', element(volume));
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const fresh = medium === 'Memory' && (await ensureTmpfs(dir, sizeOf(source.sizeLimit)));
  if (!fresh && (await exists(path.join(plugin, 'ready')))) return;
  // By chmod, since what mkdir gives is cut by the umask.
  await chmod(dir, 0o777);
  if (fsGroup !== undefined) await ownByGroup(dir, fsGroup, { writable: true });
  await mkdir(plugin, { recursive: true, mode: 0o750 });
  await writeFile(path.join(plugin, 'ready'), '');
}

/** A tmpfs at `dir`, kept if one is there. Answers whether it is new. */
export async function ensureTmpfs(dir: string, sizeBytes?: bigint): Promise<boolean> {
  if (await holdsFileSystem(dir)) return false;
  await mountTmpfs(dir, sizeBytes);
  return true;
}

function sizeOf(limit: string | undefined): bigint | undefined {
  if (limit === undefined) return undefined;
  const nanos = tryParseQuantity(limit)?.nanos;
  if (nanos === undefined)
    throw new KubeletError('FailedMount', `sizeLimit is no quantity: ${JSON.stringify(limit)}`);
  const bytes = nanos / 10n ** 9n;
  return bytes > 0n ? bytes : undefined;
}

async function exists(file: string): Promise<boolean> {
  try {
    await lstat(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
