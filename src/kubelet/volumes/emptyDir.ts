// A directory that lives as long as its pod, on disk, in memory or in huge pages.
// Guarantees: made once; its contents are never touched again, whatever else is set up anew.
import { chmod, lstat, mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { V1EmptyDirVolumeSource } from '../../api/gen/types.js';
import { tryParseQuantity } from '../../api/quantity.js';
import { KubeletError } from '../error.js';
import { isHugePages, pageSizeOf } from '../hugePages.js';
import type { Pod } from '../ports.js';
import { podMemoryLimit } from '../resources.js';
import { element, isMissing, podDir } from './files.js';
import { holdsFileSystem, mountHugePages, mountTmpfs } from './mountTable.js';
import { fsGroupOf, type Owner, ownByGroup } from './ownership.js';

export async function setUpEmptyDir(options: {
  readonly rootDir: string;
  readonly pod: Pod;
  readonly volume: string;
  readonly dir: string;
  readonly source: V1EmptyDirVolumeSource;
  readonly owner: Owner;
  /** The node's memory for pods, as a quantity. */
  readonly allocatableMemory?: string | undefined;
}): Promise<void> {
  const { rootDir, pod, volume, dir, source, owner, allocatableMemory } = options;
  const mount = mountOf(source, pod, allocatableMemory);
  const fsGroup = fsGroupOf(pod);
  const plugin = path.join(
    podDir(rootDir, pod.metadata.uid),
    'plugins',
    'kubernetes.io~empty-dir',
    element(volume),
  );
  await mkdir(dir, { recursive: true, mode: 0o750 });
  const fresh = mount !== undefined && !(await holdsFileSystem(dir));
  if (fresh) await mount(dir);
  if (!fresh && (await exists(path.join(plugin, 'ready')))) return;
  // By chmod, since what mkdir gives is cut by the umask; memory comes with the sticky bit and keeps it.
  if (((await stat(dir)).mode & 0o777) !== 0o777) await chmod(dir, 0o777);
  if (fsGroup !== undefined) await ownByGroup(owner, dir, fsGroup, { writable: true });
  await mkdir(plugin, { recursive: true, mode: 0o750 });
  await writeFile(path.join(plugin, 'ready'), '');
}

/** What its medium mounts; undefined for the disk. */
function mountOf(
  { medium = '', sizeLimit }: V1EmptyDirVolumeSource,
  pod: Pod,
  allocatable: string | undefined,
) {
  if (medium === '') return undefined;
  if (medium === 'Memory') return (dir: string) => mountTmpfs(dir, memorySize(sizeLimit, pod, allocatable));
  if (!isHugePages(medium))
    throw new KubeletError('FailedMount', `unknown storage medium ${JSON.stringify(medium)}`);
  const pageBytes = pageSizeOf(medium, pod.spec);
  return (dir: string) => mountHugePages(dir, pageBytes);
}

/** A tmpfs at `dir`, kept if one is there. */
export async function ensureTmpfs(dir: string): Promise<void> {
  if (!(await holdsFileSystem(dir))) await mountTmpfs(dir, undefined);
}

/** The least of what is asked for, what the pod's processes may have together, and what the node has for pods. */
export function memorySize(
  sizeLimit: string | undefined,
  { spec }: Pod,
  allocatable: string | undefined,
): bigint | undefined {
  const memory = podMemoryLimit(spec);
  const sizes = [sizeOf(sizeLimit), memory > 0 ? BigInt(memory) : undefined, sizeOf(allocatable)];
  return sizes.reduce((least, size) => (least === undefined || (size ?? least) < least ? size : least));
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
