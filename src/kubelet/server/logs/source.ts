// The files of one container's log: the current one and those that were rotated away before it.
// Guarantees: opened together, so that a rotation in between loses nothing; read in pieces, never as a whole.
import { type FileHandle, open, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { isMissing } from '../../volumes/files.js';
import { endsLine } from './line.js';

const PIECE_BYTES = 64 * 1024;
/** A rotated file is 10 MiB by default; one that unpacks to more than this is not a log of ours. */
const MAX_UNPACKED_BYTES = 256 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Bytes that can be read at any place. */
export interface LogSource {
  /** An empty answer is the end for now. */
  read(position: number): Promise<Buffer>;
  size(): Promise<number>;
  /** Which file this is, to tell whether a path still leads to it; undefined for one in memory. */
  inode(): Promise<number | undefined>;
  close(): Promise<void>;
}

export async function openLog(file: string): Promise<LogSource> {
  return fromHandle(await open(file, 'r'));
}

/** Oldest first, the current file last; empty when there is none at all. A file that vanishes meanwhile is left out. */
export async function openLogs(file: string): Promise<LogSource[]> {
  const sources: LogSource[] = [];
  const add = async (opening: Promise<LogSource>) => {
    const source = await opening.catch(undefinedIfMissing);
    if (source !== undefined) sources.push(source);
  };
  try {
    for (const rotated of await rotatedFiles(file)) await add(openRotated(rotated));
    await add(openLog(file));
    return sources;
  } catch (error) {
    await closeAll(sources);
    throw error;
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

export const closeAll = (sources: readonly LogSource[]) =>
  Promise.all(sources.map((source) => source.close()));

/** `0.log.20260102-030405`, packed or not: by name is by age. Unfinished ones (`.tmp`) are left out. */
async function rotatedFiles(file: string): Promise<string[]> {
  const prefix = `${path.basename(file)}.`;
  const names = (await readdir(path.dirname(file)).catch(undefinedIfMissing)) ?? [];
  return names
    .filter((name) => name.startsWith(prefix) && /^\d{8}-\d{6}(\.gz)?$/.test(name.slice(prefix.length)))
    .sort()
    .map((name) => path.join(path.dirname(file), name));
}

async function openRotated(file: string): Promise<LogSource> {
  if (!file.endsWith('.gz')) return openLog(file);
  const bytes = await promisify(gunzip)(await readFile(file), { maxOutputLength: MAX_UNPACKED_BYTES });
  return {
    read: async (position) => bytes.subarray(position, position + PIECE_BYTES),
    size: async () => bytes.length,
    inode: async () => undefined,
    close: async () => {},
  };
}

function fromHandle(handle: FileHandle): LogSource {
  return {
    async read(position) {
      const buffer = Buffer.allocUnsafe(PIECE_BYTES);
      const { bytesRead } = await handle.read(buffer, 0, PIECE_BYTES, position);
      return buffer.subarray(0, bytesRead);
    },
    size: async () => (await handle.stat()).size,
    inode: async () => (await handle.stat()).ino,
    close: () => handle.close(),
  };
}

/** Where the last `lines` of the program's lines begin: which source, and where in it. Reads from the end only. */
export async function tailStart(
  sources: readonly LogSource[],
  lines: number,
): Promise<{ readonly index: number; readonly position: number }> {
  let found = 0;
  for (const [index, source] of [...sources.entries()].reverse()) {
    for await (const { line, next } of linesBackward(source)) {
      // A line in pieces ends with the one entry that says so; the one that is too many marks the place.
      if (!endsLine(line)) continue;
      if (found === lines) return { index, position: next };
      found++;
    }
  }
  return { index: 0, position: 0 };
}

/** Each line without its newline, and the place just behind it. */
async function* linesBackward(source: LogSource): AsyncGenerator<{ line: Buffer; next: number }> {
  const size = await source.size();
  let next = size;
  let pending: Buffer = Buffer.alloc(0);
  for (let position = size; position > 0; ) {
    const start = Math.max(0, position - PIECE_BYTES);
    const piece = (await source.read(start)).subarray(0, position - start);
    let bytes = Buffer.concat([piece, pending]);
    if (position === size && bytes.at(-1) === NEWLINE) bytes = bytes.subarray(0, -1);
    for (let at = bytes.lastIndexOf(NEWLINE); at !== -1; at = bytes.lastIndexOf(NEWLINE)) {
      yield { line: bytes.subarray(at + 1), next };
      next = start + at + 1;
      bytes = bytes.subarray(0, at);
    }
    pending = bytes;
    position = start;
  }
  if (size > 0) yield { line: pending, next };
}
