// A lock on a file, held by one process at a time whatever namespaces the others live in.
// Guarantees: it ends with its process, also by kill -9; who may not read the file cannot take it. The file has the number of the
// process that holds it. It stays unless it is temporary, and then nobody holds a lock on a file that is no longer there.
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { addon } from './addon.js';

export interface FileLock {
  release(): void;
}

const FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

export interface FileLockOptions {
  /** The file goes with the lock; after kill -9, with the next one. */
  readonly isTemporary?: boolean;
}

/** Undefined when it is held already, also by this process. The folder must be there, and private. */
export function takeFileLock(
  file: string,
  { isTemporary = false }: FileLockOptions = {},
): FileLock | undefined {
  const fd = openSync(file, FLAGS, 0o600);
  try {
    if (!addon().tryLockFile(fd)) {
      closeSync(fd);
      return undefined;
    }
    if (isTemporary && statSync(file, { throwIfNoEntry: false })?.ino !== fstatSync(fd).ino) {
      // Its holder took it away between the two steps.
      closeSync(fd);
      return takeFileLock(file, { isTemporary });
    }
    fchmodSync(fd, 0o600);
    ftruncateSync(fd);
    writeSync(fd, `${process.pid}\n`, 0);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      if (isTemporary) rmSync(file, { force: true });
      else ftruncateSync(fd);
      closeSync(fd);
    },
  };
}

/** The process that holds it, as that process knows itself: in another process namespace it is called otherwise. */
export function lockHolder(file: string): number | undefined {
  if (!existsSync(file)) return undefined;
  const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
  return Number.isInteger(pid) ? pid : undefined;
}
