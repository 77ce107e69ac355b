// The mounts of this mount namespace: asking, adding and taking away, through mount(8) and umount(8).
// Guarantees: paths are never resolved again by the tools, so a link swapped in between leads nowhere.
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseMountInfo } from '../../kernel/mountInfo.js';
import { run } from '../../kernel/process.js';
import { KubeletError } from '../error.js';
import { isWithin } from './files.js';

const MAX_TIME_MS = 30_000;

/** Mount points in the order of the table: later ones lie over earlier ones. */
export async function mountPoints(): Promise<readonly string[]> {
  return parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
}

export async function isMountPoint(dir: string): Promise<boolean> {
  return (await mountPoints()).includes(dir);
}

/**
 * A file system of its own is mounted there, such as a tmpfs: its device is not its parent's. Unlike the table, which
 * grows with every pod of the node, this costs the same for each.
 */
export async function holdsFileSystem(dir: string): Promise<boolean> {
  const [own, parent] = await Promise.all([stat(dir), stat(path.dirname(dir))]);
  return own.dev !== parent.dev;
}

export async function mountTmpfs(dir: string, sizeBytes: bigint | undefined): Promise<void> {
  const size = sizeBytes === undefined ? [] : ['-o', `size=${sizeBytes}`];
  await tool(['mount', '-t', 'tmpfs', ...size, 'tmpfs', dir]);
}

export async function mountHugePages(dir: string, pageBytes: number): Promise<void> {
  await tool(['mount', '-t', 'hugetlbfs', '-o', `pagesize=${pageBytes}`, 'nodev', dir]);
}

/** `source` may be a link in /proc to an open descriptor. */
export async function bindMount(source: string, target: string): Promise<void> {
  await tool(['mount', '--no-canonicalize', '--bind', source, target]);
}

export async function mountNfs(source: string, dir: string, options: readonly string[]): Promise<void> {
  await tool([
    'mount',
    '-t',
    'nfs',
    ...(options.length === 0 ? [] : ['-o', options.join(',')]),
    '--',
    source,
    dir,
  ]);
}

export async function unmount(dir: string): Promise<void> {
  await tool(['umount', '--no-canonicalize', dir]);
}

/** Takes away every mount at or below `dir`, the last one first. */
export async function unmountBelow(dir: string): Promise<void> {
  const points = (await mountPoints()).filter((point) => isWithin(point, dir));
  for (const point of points.toReversed()) await unmount(point);
}

async function tool(argv: readonly string[]): Promise<void> {
  const { status, stderr } = await run(argv, { timeoutMs: MAX_TIME_MS, env: { LC_ALL: 'C' } });
  if (status === 0) return;
  const words = Buffer.from(stderr).toString('utf8').trim();
  throw new KubeletError(
    'FailedMount',
    `mount failed: ${argv.join(' ')}: ${words || `exit status ${status}`}`,
  );
}
