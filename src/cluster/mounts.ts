// Mounts below a directory, from the kernel's own table.
// Guarantees: unmounts only what lies below the directory named, the newest first; what is busy is detached.
import { readFileSync } from 'node:fs';
import { parseMountInfo } from '../kernel/mountInfo.js';
import { run } from '../kernel/process.js';
import { ClusterError } from './error.js';

/** Mount points below (or at) a directory, in the order in which they can be unmounted. Pure. */
export function mountsBelow(mountinfo: string, dir: string): string[] {
  return parseMountInfo(mountinfo)
    .filter((point) => point === dir || point.startsWith(`${dir}/`))
    .reverse();
}

export async function unmountBelow(dir: string): Promise<void> {
  for (const point of mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), dir)) {
    // A mount may hide another at the same place, and one may go with its parent: gone is good.
    const { status, stderr } = await run(['umount', '--lazy', '--no-canonicalize', point]);
    if (status !== 0 && mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), point).includes(point)) {
      throw new ClusterError('REMAINS', `cannot unmount ${point}: ${stderr.toString().trim()}`);
    }
  }
}
