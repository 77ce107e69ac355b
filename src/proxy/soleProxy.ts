// One proxy at a time on a table of one network: two would take each other's rules for damage, and repair it for ever.
// Guarantees: the second gives up before it has changed anything; the claim ends with its process, also by kill -9. Where no
// file can be locked (a folder that is not there or cannot be written), it is told and the proxy runs.
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../api/log.js';
import { type FileLock, lockHolder, takeFileLock } from '../kernel/fileLock.js';
import { ProxyError } from './error.js';

const LOCK_DIR = '/run';
const NO_FILE = ['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOSPC'];

export interface Claim {
  readonly table: string;
  readonly log: Log;
  readonly dir?: string;
}

export async function claimTable({ table, log, dir = LOCK_DIR }: Claim): Promise<FileLock> {
  const { ino } = await stat('/proc/self/ns/net');
  const file = path.join(dir, `${table}.${ino}.lock`);
  const lock = lockIfPossible(file, log);
  if (lock !== undefined) return lock;
  const pid = lockHolder(file);
  throw new ProxyError(
    'ALREADY_RUNNING',
    `a proxy already keeps the rules of this network${pid === undefined ? '' : ` (process ${pid})`}; end it first`,
  );
}

function lockIfPossible(file: string, log: Log): FileLock | undefined {
  try {
    return takeFileLock(file);
  } catch (error) {
    if (!NO_FILE.includes(String((error as NodeJS.ErrnoException).code))) throw error;
    log.warn('a second proxy on this network would not be noticed: the file cannot be locked', {
      file,
      error,
    });
    return { release: () => undefined };
  }
}
