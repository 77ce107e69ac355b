// One process at a time: LMDB itself would let several open the same file.
// Guarantees: the lock dies with its process, also by kill -9; nothing of the store is touched to find out.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { identify, isAlive, type ProcessIdentity } from '../../kernel/processIdentity.js';
import { StoreError } from '../store.js';

export interface Lock {
  release(): Promise<void>;
}

/**
 * A listening socket in the abstract namespace, named by the folder's device and inode: the kernel hands out each name
 * once and takes it back when the process ends. That namespace is one per network namespace, so the owner is also
 * written to a file, for who comes from another one.
 */
export async function takeLock(folder: string): Promise<Lock> {
  const { dev, ino } = statSync(folder);
  const server = net.createServer((socket) => socket.destroy());
  server.unref();
  const ownerFile = path.join(folder, 'owner');
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: `\0trellis-store-${dev}-${ino}` }, resolve);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw locked(folder, readOwner(ownerFile)?.pid);
    throw error;
  }
  const owner = readOwner(ownerFile);
  if (owner !== undefined && owner.pid !== process.pid && isAlive(owner)) {
    server.close();
    throw locked(folder, owner.pid);
  }
  writeFileSync(ownerFile, `${process.pid} ${identify(process.pid)?.startTime ?? ''}\n`, { mode: 0o600 });
  return {
    async release() {
      // While the name is still ours: later the file could be the next owner's.
      rmSync(ownerFile, { force: true });
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function readOwner(file: string): ProcessIdentity | undefined {
  const text = read(file);
  const match = /^(\d+) (\d+)\n$/.exec(text ?? '');
  return match === null ? undefined : { pid: Number(match[1]), startTime: match[2] ?? '' };
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function locked(folder: string, pid: number | undefined): StoreError {
  const who = pid === undefined ? 'another process' : `process ${pid}`;
  return new StoreError(
    'LOCKED',
    `the store in ${folder} is in use by ${who}; stop it or use another data directory`,
  );
}
