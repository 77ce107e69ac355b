// Trees in memory, for tests of what is built on them.
// Guarantees: passes the contract of the native one.
import { KernelError } from '../error.js';
import type { TreeOwned, TreeOwnership, TreePort, TreeUse } from './port.js';

interface FakeEntry {
  readonly kind: 'file' | 'directory' | 'link';
  mode: number;
  gid: number;
  readonly usedBytes: number;
  /** Entries with the same number are one file. */
  readonly inode: number;
}

const SETGID = 0o2000;
const BLOCK = 4096;

export class FakeTrees implements TreePort {
  /** By path. */
  readonly entries = new Map<string, FakeEntry>();
  #inodes = 0;

  put(
    path: string,
    {
      kind = 'file',
      mode = 0o644,
      gid = 0,
      usedBytes = BLOCK,
      inode = ++this.#inodes,
    }: Partial<FakeEntry> = {},
  ): void {
    this.entries.set(path, { kind, mode, gid, usedBytes, inode });
  }

  async remove(path: string): Promise<void> {
    for (const [name] of this.#at(path)) this.entries.delete(name);
  }

  async measure(path: string): Promise<TreeUse> {
    const files = new Map(this.#at(path).map(([, entry]) => [entry.inode, entry.usedBytes]));
    const usedBytes = [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
    return { usedBytes, inodesUsed: files.size, unread: 0 };
  }

  async own(path: string, wanted: TreeOwnership): Promise<TreeOwned> {
    const root = this.entries.get(path);
    if (root === undefined) throw missing(path);
    if (wanted.unlessRootMatches && matches(root, wanted)) return { changed: 0, refused: 0 };
    // Each file once, however many names it has.
    const others = new Set(
      this.#at(path)
        .map(([, entry]) => entry)
        .filter((entry) => !matches(entry, wanted)),
    );
    for (const entry of others) {
      entry.gid = wanted.gid;
      entry.mode |= bitsOf(entry, wanted);
    }
    return { changed: others.size, refused: 0 };
  }

  #at(path: string): [string, FakeEntry][] {
    return [...this.entries].filter(([name]) => name === path || name.startsWith(`${path}/`));
  }
}

function bitsOf({ kind }: FakeEntry, { writable }: TreeOwnership): number {
  if (kind === 'link') return 0;
  return (writable ? 0o660 : 0o440) | (kind === 'directory' ? SETGID | 0o110 : 0);
}

const matches = (entry: FakeEntry, wanted: TreeOwnership): boolean =>
  entry.gid === wanted.gid && (entry.mode & bitsOf(entry, wanted)) === bitsOf(entry, wanted);

function missing(path: string): KernelError {
  const operation = `own ${path}`;
  const message = `${operation}: No such file or directory`;
  return new KernelError([{ code: 'ENOENT', message, operation, kernel: '', errno: 2 }]);
}
