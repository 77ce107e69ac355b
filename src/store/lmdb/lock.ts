// One process at a time: LMDB itself would let several open the same file.
// Guarantees: the lock dies with its process, also by kill -9; nothing of the store is touched to find out.
import path from 'node:path';
import { lockHolder, takeFileLock } from '../../kernel/fileLock.js';
import { StoreError } from '../store.js';

export interface Lock {
  release(): void;
}

/** A lock on a file in the folder, which is for its owner alone: nobody else can hold it. */
export function takeLock(folder: string): Lock {
  const file = path.join(folder, 'owner');
  const lock = takeFileLock(file);
  if (lock !== undefined) return lock;
  const pid = lockHolder(file);
  const who = pid === undefined ? 'another process' : `process ${pid}`;
  throw new StoreError(
    'LOCKED',
    `the store in ${folder} is in use by ${who}; stop it or use another data directory`,
  );
}
