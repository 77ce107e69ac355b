// Opens the LMDB file and its tables, or says why not.
// Guarantees: what is newer, damaged or in use is left as it was; folder 0700, files 0600.
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { type Database, open, type RootDatabase } from 'lmdb';
import { StoreError } from '../store.js';
import { damaged, decodeRevision, encodeRevision, SCHEMA } from './format.js';
import { checkHeader, HEADER_BYTES } from './header.js';
import { type Lock, takeLock } from './lock.js';

export type Table = Database<Buffer, Buffer>;

export interface Tables {
  readonly root: RootDatabase<Buffer, Buffer>;
  /** Key: revision and value. */
  readonly current: Table;
  /** Revision: what changed, and which revision it replaced. */
  readonly log: Table;
  /** Revision: the value that this change replaced. With `current`, every older state can be told from it. */
  readonly undo: Table;
  close(): Promise<void>;
}

export const FILE = 'store.mdb';
const SCHEMA_KEY = Buffer.from('trellis.schema');
const COMPACTED_KEY = Buffer.from('trellis.compacted');
const BINARY = { encoding: 'binary', keyEncoding: 'binary', cache: false } as const;
/** The package's own batch of each turn has a promise that nobody can catch. Ours are made by hand: see commit.ts. */
const BATCHES = { eventTurnBatching: false, txnStartThreshold: 1 };

export async function openDatabase(folder: string): Promise<Tables> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = takeLock(folder);
  try {
    return openLocked(folder, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openLocked(folder: string, lock: Lock): Tables {
  const file = path.join(folder, FILE);
  // An empty file is one whose making was cut short: there is nothing in it to lose.
  const isNew = !existsSync(file) || statSync(file).size === 0;
  if (!isNew) examine(file);
  chmodSync(folder, 0o700);
  // Without overlapping syncs a change becomes visible to readers only when it is on disk: nobody can have seen a
  // revision that a power failure takes back.
  const root = open<Buffer, Buffer>({
    ...BINARY,
    path: file,
    noSubdir: true,
    overlappingSync: false,
    ...BATCHES,
    maxDbs: 8,
  });
  try {
    for (const name of [file, `${file}-lock`]) chmodSync(name, 0o600);
    checkSchema(root, file, isNew);
    const [current, log, undo] = ['current', 'log', 'undo'].map((name) => root.openDB(name, BINARY)) as [
      Table,
      Table,
      Table,
    ];
    return {
      root,
      current,
      log,
      undo,
      async close() {
        await root.close();
        lock.release();
      },
    };
  } catch (error) {
    void root.close();
    throw error;
  }
}

/** For reading beside a process that may be using the store: LMDB's readers and its one writer do not disturb each other. */
export function openReadOnly(folder: string): Tables {
  const file = path.join(folder, FILE);
  examine(file, 'r');
  const root = open<Buffer, Buffer>({ ...BINARY, path: file, noSubdir: true, readOnly: true, maxDbs: 8 });
  try {
    if (root.get(SCHEMA_KEY) === undefined) throw damaged(`${file} holds something else`);
    checkSchema(root, file, false);
    const [current, log, undo] = ['current', 'log', 'undo'].map((name) => root.openDB(name, BINARY)) as [
      Table,
      Table,
      Table,
    ];
    return { root, current, log, undo, close: () => root.close() };
  } catch (error) {
    void root.close();
    throw error;
  }
}

/** Reads the start of the file as any file, before LMDB maps it. */
function examine(file: string, mode: 'r' | 'r+' = 'r+'): void {
  const fd = openSync(file, mode);
  try {
    const { size } = fstatSync(fd);
    const head = Buffer.alloc(Math.min(size, HEADER_BYTES));
    readSync(fd, head, 0, head.length, 0);
    const wanted = checkHeader({ head, size });
    // Unwritten pages at the end read as empty ones then, where a mapping past the end would be fatal.
    if (size < wanted && mode === 'r+') ftruncateSync(fd, wanted);
  } finally {
    closeSync(fd);
  }
}

function checkSchema(root: RootDatabase<Buffer, Buffer>, file: string, isNew: boolean): void {
  const bytes = root.get(SCHEMA_KEY);
  if (bytes === undefined) {
    if (!isNew && root.getKeysCount({ limit: 1 }) > 0) throw damaged(`${file} holds something else`);
    root.putSync(SCHEMA_KEY, encodeRevision(SCHEMA));
    return;
  }
  const schema = decodeRevision(bytes);
  if (schema > SCHEMA) {
    const message = `the store ${file} has schema ${schema}, and this program knows ${SCHEMA}; use a newer Trellis`;
    throw new StoreError('NEWER_SCHEMA', message);
  }
}

export function readCompacted({ root }: Tables): number {
  const bytes = root.get(COMPACTED_KEY);
  return bytes === undefined ? 0 : decodeRevision(bytes);
}

/** Part of the batch that removes the history. */
export function putCompacted({ root }: Tables, revision: number): void {
  root.put(COMPACTED_KEY, encodeRevision(revision));
}
