// How much a directory holds on disk, as du counts: blocks, each file once however many names it has.
// Guarantees: no link is followed and no other file system entered; what vanishes meanwhile is left out.
import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';

const BLOCK = 512;

export interface DiskUse {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export async function diskUse(directory: string): Promise<DiskUse> {
  const root = await lstat(directory).catch(() => undefined); // not there
  if (root === undefined) return { usedBytes: 0, inodesUsed: 0 };
  const seen = new Set<number>();
  let usedBytes = 0;
  const count = ({ ino, blocks }: Stats) => {
    if (seen.has(ino)) return;
    seen.add(ino);
    usedBytes += blocks * BLOCK;
  };
  count(root);
  const waiting = [directory];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const names = await readdir(at).catch(() => []);
    for (const name of names) {
      const file = path.join(at, name);
      const found = await lstat(file).catch(() => undefined);
      if (found === undefined || found.dev !== root.dev) continue;
      count(found);
      if (found.isDirectory()) waiting.push(file);
    }
  }
  return { usedBytes, inodesUsed: seen.size };
}
