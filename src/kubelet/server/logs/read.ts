// Reads a container's log as a stream of bytes, to its end or for as long as the container writes.
// Guarantees: holds one piece at a time; follows the log through rotations; ends when the reader or the container does.
import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { isMissing } from '../../volumes/files.js';
import { LogFormatter } from './line.js';
import type { LogOptions } from './options.js';
import { closeAll, openLog, openLogs, type PlainLog, tailStart } from './source.js';

const NEWLINE = 0x0a;
/** How often a follower asks whether the container still runs, and looks itself should no notice come. */
const LOOK_MS = 1000;

interface LogRequest {
  readonly file: string;
  readonly options: LogOptions;
  readonly isRunning: () => Promise<boolean>;
  readonly signal: AbortSignal;
}

export async function* readLog(request: LogRequest): AsyncGenerator<Buffer> {
  let left = request.options.limitBytes ?? Number.POSITIVE_INFINITY;
  for await (const piece of formatted(request)) {
    if (piece.length < left) {
      left -= piece.length;
      yield piece;
      continue;
    }
    yield piece.subarray(0, left);
    return;
  }
}

async function* formatted(request: LogRequest): AsyncGenerator<Buffer> {
  const formatter = new LogFormatter(request.options);
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of rawPieces(request)) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const out: Buffer[] = [];
    let start = 0;
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, start)) {
      out.push(...formatter.format(bytes.subarray(start, at)));
      start = at + 1;
    }
    rest = bytes.subarray(start);
    if (out.length > 0) yield Buffer.concat(out);
  }
  // What a runtime that died in the middle of a line left.
  const last = rest.length === 0 ? [] : formatter.format(rest);
  if (last.length > 0) yield Buffer.concat(last);
}

/** The bytes of all files in order, from where the reader wants to begin. */
async function* rawPieces(request: LogRequest): AsyncGenerator<Buffer> {
  const { file, options, signal } = request;
  const { rotated, current } = await openLogs(file);
  const sources = [...rotated, ...(current === undefined ? [] : [current])];
  let isFollowed = false;
  try {
    const begin =
      options.tailLines === undefined
        ? { index: 0, position: 0 }
        : await tailStart(sources, options.tailLines);
    for (const [index, source] of sources.entries()) {
      if (index < begin.index || (source === current && options.follow)) continue;
      yield* until(signal, source.pieces(index === begin.index ? begin.position : 0));
    }
    if (!options.follow) return;
    isFollowed = true;
    const isFirst = sources[begin.index] === current;
    yield* follow(request, current, isFirst ? begin.position : 0);
  } finally {
    await closeAll(isFollowed ? rotated : sources);
  }
}

async function* until(signal: AbortSignal, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (signal.aborted) return;
  for await (const piece of pieces) {
    yield piece;
    if (signal.aborted) return;
  }
}

/** Owns and closes `source`, and those that take its place. */
async function* follow(
  { file, isRunning, signal }: LogRequest,
  first: PlainLog | undefined,
  from: number,
): AsyncGenerator<Buffer> {
  const changes = new Changes(path.dirname(file));
  let source = first;
  let position = from;
  try {
    while (!signal.aborted) {
      // Asked before reading: what is written until then is read in this round.
      const running = await isRunning();
      const next = await replacementOf(file, source);
      if (source !== undefined) {
        if ((await source.size()) < position) position = 0;
        for await (const piece of until(signal, source.pieces(position))) {
          position += piece.length;
          yield piece;
        }
      }
      if (next !== undefined) {
        await source?.close();
        source = next;
        position = 0;
      } else if (running) {
        await changes.next(LOOK_MS, signal);
      } else return;
    }
  } finally {
    changes.close();
    await source?.close();
  }
}

/** The file that is at the path now, if it is not the one we read. */
async function replacementOf(file: string, source: PlainLog | undefined): Promise<PlainLog | undefined> {
  try {
    if (source !== undefined && (await stat(file)).ino === (await source.inode())) return undefined;
    return await openLog(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Notices of a directory. Where the kernel has no more to give, looking again after a while must do. */
class Changes {
  #watcher: FSWatcher | undefined;
  #wake: (() => void) | undefined;
  #missed = false;

  constructor(dir: string) {
    try {
      this.#watcher = watch(dir, () => this.#notice());
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // Too many watches, or the directory is gone: the timer in `next` remains.
      this.#watcher = undefined;
    }
  }

  /** Resolves after a change since the last call, after the time, or when aborted. */
  next(maxMs: number, signal: AbortSignal): Promise<void> {
    if (this.#missed || signal.aborted) {
      this.#missed = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#wake = undefined;
        this.#missed = false;
        resolve();
      };
      const timer = setTimeout(done, maxMs);
      signal.addEventListener('abort', done);
      this.#wake = done;
    });
  }

  close(): void {
    this.#watcher?.close();
  }

  #notice(): void {
    this.#missed = true;
    this.#wake?.();
  }
}
