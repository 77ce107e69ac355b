// Snapshot files on disk: written beside their name and renamed when whole, read piece by piece.
// Guarantees: a file of that name is always a whole snapshot, mode 0600; memory does not grow with its size.
import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Entry, StoreError } from '../store.js';
import { SnapshotDecoder, SnapshotEncoder, type SnapshotEnd, type SnapshotHeader } from './format.js';
import type { SnapshotSource } from './source.js';

export interface SnapshotSummary extends SnapshotHeader, SnapshotEnd {
  readonly bytes: number;
}

/** Called as often as there is something new; `total` counts keys, or bytes where keys are not known yet. */
export type Progress = (done: number, total: number) => void;

const PIECE = 1024 * 1024;

/** EXISTS when there is such a file and it may not be replaced. */
export async function writeSnapshotFile(
  file: string,
  source: SnapshotSource,
  {
    replace,
    now,
    progress,
  }: { readonly replace: boolean; readonly now: number; readonly progress: Progress },
): Promise<SnapshotSummary> {
  if (!replace && (await isThere(file))) {
    throw new StoreError('EXISTS', `${file} exists already; --force replaces it`);
  }
  const part = `${file}.${randomBytes(4).toString('hex')}.part`;
  const handle = await open(part, 'wx', 0o600);
  try {
    const header = { revision: source.revision, timeMs: now };
    const encoder = new SnapshotEncoder();
    let done = 0;
    let bytes = await put(handle, encoder.header(header));
    for await (const entries of source.entries()) {
      bytes += await put(handle, encoder.entries(entries));
      done += entries.length;
      progress(done, source.keys);
    }
    const { bytes: last, end } = encoder.end();
    bytes += await put(handle, last);
    await handle.sync();
    await handle.close();
    await rename(part, file);
    await syncFolder(path.dirname(file));
    return { ...header, ...end, bytes };
  } catch (error) {
    await handle.close().catch(() => {}); // it may be closed already
    await rm(part, { force: true });
    throw error;
  }
}

/** Reads and checks the whole file. DAMAGED, NEWER_SCHEMA or UNAVAILABLE when it cannot be used. */
export async function checkSnapshotFile(file: string, progress: Progress): Promise<SnapshotSummary> {
  const decoder = new SnapshotDecoder();
  let bytes = 0;
  for await (const { read, total } of pieces(file, decoder)) {
    bytes = read;
    progress(read, total);
  }
  return { ...decoder.finish(), bytes };
}

/** The entries of a file that has been checked. */
export async function* snapshotEntries(file: string): AsyncGenerator<readonly Entry[]> {
  for await (const { entries } of pieces(file, new SnapshotDecoder())) yield entries;
}

async function* pieces(file: string, decoder: SnapshotDecoder) {
  const handle = await open(file, 'r').catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'ENOENT' ? 'there is no such file' : cause.message;
    throw new StoreError('UNAVAILABLE', `cannot read the snapshot ${file}: ${why}`, { cause });
  });
  try {
    const { size: total } = await handle.stat();
    for (let read = 0; ; ) {
      // A new buffer each time: entries are views of it.
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(PIECE), 0, PIECE);
      if (bytesRead === 0) break;
      read += bytesRead;
      yield { entries: decoder.push(buffer.subarray(0, bytesRead)), read, total };
    }
  } finally {
    await handle.close();
  }
}

async function put(handle: FileHandle, bytes: Buffer): Promise<number> {
  for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
  return bytes.length;
}

/** The new name itself must survive a power failure too. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const isThere = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  );
