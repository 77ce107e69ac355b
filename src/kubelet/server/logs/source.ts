// The files of one container's log: the current one and those that were rotated away before it.
// Guarantees: opened together, so that a rotation in between loses nothing; read in pieces, never as a whole, packed or not;
// an older file is read only when the reader needs it.
import { type FileHandle, open, readdir } from 'node:fs/promises';
import path from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isMissing } from '../../volumes/files.js';
import { endsLine } from './line.js';

const PIECE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Where the last of the program's lines begin, or how many there are if there are fewer. */
type Tail = { readonly position: number } | { readonly lines: number; readonly isEmpty: boolean };

interface LogSource {
  /** From a place to the end that there is now. */
  pieces(position: number): AsyncIterable<Buffer>;
  /** `isLast`: nothing follows, so that a line which was left open at the end is a line. */
  tail(lines: number, isLast: boolean): Promise<Tail>;
  close(): Promise<void>;
}

export async function openLog(file: string): Promise<PlainLog> {
  return new PlainLog(await open(file, 'r'));
}

interface OpenLogs {
  /** Oldest first. */
  readonly rotated: readonly LogSource[];
  readonly current: PlainLog | undefined;
}

/** A file that vanishes meanwhile is left out. */
export async function openLogs(file: string): Promise<OpenLogs> {
  const rotated: LogSource[] = [];
  try {
    for (const name of await rotatedFiles(file)) {
      const source = await openRotated(name).catch(undefinedIfMissing);
      if (source !== undefined) rotated.push(source);
    }
    return { rotated, current: await openLog(file).catch(undefinedIfMissing) };
  } catch (error) {
    await closeAll(rotated);
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
  return file.endsWith('.gz') ? new PackedLog(await open(file, 'r')) : openLog(file);
}

async function* readFrom(handle: FileHandle, from: number): AsyncGenerator<Buffer> {
  for (let position = from; ; ) {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, PIECE_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

export class PlainLog implements LogSource {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  pieces(position: number): AsyncIterable<Buffer> {
    return readFrom(this.#handle, position);
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size;
  }

  /** To tell whether a path still leads to this file. */
  async inode(): Promise<number> {
    return (await this.#handle.stat()).ino;
  }

  /** Reads from the end, and no more than it must. */
  async tail(lines: number, isLast: boolean): Promise<Tail> {
    if (lines === 0 && isLast) return { position: await this.size() };
    let found = 0;
    let isEmpty = true;
    for await (const { line, next } of this.#linesBackward()) {
      // A line in pieces ends with the one entry that says so; the one that is too many marks the place.
      const ends = endsLine(line);
      if (isEmpty && isLast && !ends) found++;
      isEmpty = false;
      if (!ends) continue;
      if (found === lines) return { position: next };
      found++;
    }
    return { lines: found, isEmpty };
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** Each line without its newline, and the place just behind it. */
  async *#linesBackward(): AsyncGenerator<{ line: Buffer; next: number }> {
    const size = await this.size();
    let next = size;
    let pending: Buffer = Buffer.alloc(0);
    for (let position = size; position > 0; ) {
      const start = Math.max(0, position - PIECE_BYTES);
      const piece = Buffer.allocUnsafe(position - start);
      const { bytesRead } = await this.#handle.read(piece, 0, piece.length, start);
      let bytes = Buffer.concat([piece.subarray(0, bytesRead), pending]);
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
}

/** Can be read from its beginning only: the way to its end is taken once more for each question. */
class PackedLog implements LogSource {
  readonly #handle: FileHandle;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  async *pieces(position: number): AsyncGenerator<Buffer> {
    const unpacked = createGunzip({ chunkSize: PIECE_BYTES });
    // A failure of either reaches the reader below.
    pipeline(Readable.from(readFrom(this.#handle, 0), { objectMode: false }), unpacked, () => {});
    let ahead = position;
    for await (const piece of unpacked as AsyncIterable<Buffer>) {
      if (piece.length > ahead) yield piece.subarray(ahead);
      ahead = Math.max(0, ahead - piece.length);
    }
  }

  async tail(lines: number, isLast: boolean): Promise<Tail> {
    if (lines === 0 && isLast) return { position: Number.POSITIVE_INFINITY };
    let ended = 0;
    let isOpen = false;
    let isEmpty = true;
    await this.#eachLine((ends) => {
      isEmpty = false;
      isOpen = !ends;
      if (ends) ended++;
      return true;
    });
    const found = ended + (isLast && isOpen ? 1 : 0);
    if (found <= lines || ended === 0) return { lines: found, isEmpty };
    let left = found - lines;
    let position = 0;
    await this.#eachLine((ends, next) => {
      position = next;
      return !ends || --left > 0;
    });
    return { position };
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** `next` is the place just behind the line. Until `visit` says that it has seen enough. */
  async #eachLine(visit: (ends: boolean, next: number) => boolean): Promise<void> {
    let rest: Buffer = Buffer.alloc(0);
    let next = 0;
    for await (const piece of this.pieces(0)) {
      const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      let start = 0;
      for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, start)) {
        next += at + 1 - start;
        if (!visit(endsLine(bytes.subarray(start, at)), next)) return;
        start = at + 1;
      }
      rest = bytes.subarray(start);
    }
    if (rest.length > 0) visit(endsLine(rest), next + rest.length);
  }
}

/** Where the last `lines` of the program's lines begin: which source, and where in it. */
export async function tailStart(
  sources: readonly LogSource[],
  lines: number,
): Promise<{ readonly index: number; readonly position: number }> {
  let found = 0;
  let isLast = true;
  for (const [index, source] of [...sources.entries()].reverse()) {
    const tail = await source.tail(lines - found, isLast);
    if ('position' in tail) return { index, position: tail.position };
    found += tail.lines;
    isLast &&= tail.isEmpty;
  }
  return { index: 0, position: 0 };
}
