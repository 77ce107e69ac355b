// Only one proxy per network namespace: two would treat each other's rules as damage and repair them forever.
// Guarantees: the second gives up before it has changed anything; the claim ends with its process, also by kill -9, and leaves no
// file. Where no file can be locked (a folder that is not there or cannot be written), it is told and the proxy runs.
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type Log, silentLog } from '../api/log.js';
import { type FileLock, lockHolder, takeFileLock } from '../kernel/fileLock.js';
import { ProxyError } from './error.js';
import type { ModeName } from './modeNames.js';

const LOCK_DIR = '/run';
const NO_FILE = ['EACCES', 'EPERM', 'EROFS', 'ENOENT', 'ENOSPC'];

/** In the place of a table: the chains and sets that all modes but nftables share, whoever runs them. */
export const SHARED_CHAINS = 'kube-proxy-chains';

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

/** The claim of a mode beside its table: undefined where it needs none. */
export const claimChains = (mode: ModeName, { log, dir }: Omit<Claim, 'table'>) =>
  mode === 'nftables'
    ? undefined
    : claimTable({ table: SHARED_CHAINS, log, ...(dir === undefined ? {} : { dir }) });

/** Removes the files of claims whose process was killed; claims that are held stay. */
export async function forgetClaims(tables: readonly string[], dir = LOCK_DIR): Promise<void> {
  for (const table of tables) {
    const claim = await claimTable({ table, log: silentLog, dir }).catch((error: unknown) => {
      if (!(error instanceof ProxyError)) throw error;
    });
    claim?.release();
  }
}

function lockIfPossible(file: string, log: Log): FileLock | undefined {
  try {
    return takeFileLock(file, { isTemporary: true });
  } catch (error) {
    if (!NO_FILE.includes(String((error as NodeJS.ErrnoException).code))) throw error;
    log.warn('a second proxy on this network would not be noticed: the file cannot be locked', {
      file,
      error,
    });
    return { release: () => undefined };
  }
}
