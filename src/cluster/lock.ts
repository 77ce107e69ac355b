// One lock for whoever starts or ends a cluster: in its data directory, held by a process as long as it lives.
// Guarantees: a start and an end of one cluster never overlap; only the process that really holds the lock is ended for it.
import { existsSync } from 'node:fs';
import { mkdir, readdir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileLock } from '../kernel/fileLock.js';
import { identify, type ProcessIdentity } from '../kernel/processIdentity.js';
import { ClusterError } from './error.js';
import type { Layout } from './layout.js';
import { terminate } from './processes.js';
import { readState, runningSupervisor } from './state.js';

const POLL_MS = 20;

/** For a start. Held as long as this process lives, however it ends. */
export async function lockForStart(layout: Layout): Promise<FileLock> {
  // With the addon, which what prepares the start needs as well.
  const { lockHolder, takeFileLock } = await import('../kernel/fileLock.js');
  const running = runningSupervisor(await readState(layout));
  await mkdir(layout.dataDir, { recursive: true, mode: 0o700 });
  const lock = takeFileLock(layout.lockFile);
  if (lock !== undefined && running === undefined) return lock;
  const pid = running?.pid ?? (lock === undefined ? lockHolder(layout.lockFile) : undefined);
  lock?.release();
  const who = pid === undefined ? '' : ` (process ${pid})`;
  throw new ClusterError(
    'ALREADY_RUNNING',
    `a cluster already runs on ${layout.dataDir}${who}; see it with "trellis status", end it with "trellis down", ` +
      'or start another with --data-dir',
  );
}

/** For an end: whoever holds it, such as a start that has not got far, is told to end. Undefined without a directory. */
export async function lockForEnd(layout: Layout, graceMs: number): Promise<FileLock | undefined> {
  if (!existsSync(layout.dataDir)) return undefined;
  const { lockHolder, takeFileLock } = await import('../kernel/fileLock.js');
  for (let waited = 0; waited < graceMs; waited += POLL_MS) {
    const lock = takeFileLock(layout.lockFile);
    if (lock !== undefined) return lock;
    const holder = await holderOf(layout.lockFile, lockHolder(layout.lockFile));
    if (holder !== undefined) await terminate(holder, graceMs);
    else await sleep(POLL_MS);
  }
  throw new ClusterError(
    'ALREADY_RUNNING',
    `${layout.lockFile} is held by a process that is not seen from here, so the cluster in ${layout.dataDir} was not ended`,
  );
}

/** The process of that number, if it has the file open: in another process namespace the number means somebody else. */
async function holderOf(file: string, pid: number | undefined): Promise<ProcessIdentity | undefined> {
  const identity = pid === undefined ? undefined : identify(pid);
  if (identity === undefined || identity.pid === process.pid) return undefined;
  const dir = `/proc/${identity.pid}/fd`;
  const wanted = await realpath(file);
  const open = await readdir(dir).catch(() => []);
  const targets = await Promise.all(open.map((fd) => readlink(path.join(dir, fd)).catch(() => '')));
  return targets.includes(wanted) ? identity : undefined;
}
