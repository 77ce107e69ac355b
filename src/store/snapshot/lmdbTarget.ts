// Restores a snapshot into LMDB: a new file is made beside the old one and takes its place when it is whole.
// Guarantees: the old store stays until that moment; revisions of keys are kept. The newest is beyond every one that was
// ever given out, so that whoever saw something else is told to look again (COMPACTED).
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { FILE, openDatabase, putCompacted, type Tables } from '../lmdb/database.js';
import { encodeCurrent, encodeLog, encodeRevision, keyBytes } from '../lmdb/format.js';
import { takeLock } from '../lmdb/lock.js';
import { rangeOf, Snapshot } from '../lmdb/snapshot.js';
import { type Entry, StoreError } from '../store.js';
import { syncFolder } from './file.js';
import type { RestoreOptions } from './restore.js';

/** The log wants one record at the newest revision; being compacted, it is never told to anyone. */
const MARK = 'trellis.snapshot';
/** More than a store can have written after its snapshot was taken; what etcd's own tool is told to add. */
const MARGIN = 1_000_000_000;

/** Answers the newest revision of the store that it made. NOT_EMPTY, LOCKED when the target is not to be replaced. */
export async function restoreToLmdb(folder: string, options: RestoreOptions): Promise<number> {
  const old = existsSync(path.join(folder, FILE)) ? await look(folder) : { keys: 0, revision: 0 };
  if (old.keys > 0 && !options.force) throw notEmpty(`the store in ${folder}`, old.keys);
  const revision = Math.max(options.header.revision, old.revision) + MARGIN;
  const fresh = `${folder}.restoring`;
  await rm(fresh, { recursive: true, force: true });
  try {
    await fill(fresh, revision, options);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const lock = takeLock(folder);
    try {
      await rename(path.join(fresh, FILE), path.join(folder, FILE));
      // It tells of readers of the old file; the next who opens the store makes a new one.
      await rm(path.join(folder, `${FILE}-lock`), { force: true });
      await syncFolder(folder);
    } finally {
      lock.release();
    }
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return revision;
}

export function notEmpty(what: string, keys: number): StoreError {
  return new StoreError('NOT_EMPTY', `${what} holds ${keys} keys already; --force replaces them`);
}

async function look(folder: string): Promise<{ keys: number; revision: number }> {
  const tables = await openDatabase(folder);
  try {
    const snapshot = new Snapshot(tables);
    try {
      return { keys: snapshot.count(rangeOf('')), revision: snapshot.newest() };
    } finally {
      snapshot.close();
    }
  } finally {
    await tables.close();
  }
}

async function fill(folder: string, revision: number, { entries, progress, header }: RestoreOptions) {
  const tables = await openDatabase(folder);
  try {
    let done = 0;
    for await (const page of entries()) {
      tables.root.transactionSync(() => putAll(tables, page));
      done += page.length;
      progress(done, header.keys);
    }
    tables.root.transactionSync(() => {
      const mark = { type: 'put', key: MARK, previous: 0, timeMs: header.timeMs } as const;
      tables.log.putSync(encodeRevision(revision), encodeLog(mark));
      putCompacted(tables, revision);
    });
  } finally {
    await tables.close();
  }
}

function putAll({ current }: Tables, page: readonly Entry[]): void {
  for (const { key, value, revision } of page) current.putSync(keyBytes(key), encodeCurrent(revision, value));
}
