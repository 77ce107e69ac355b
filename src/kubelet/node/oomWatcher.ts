// Follows the kernel's log for processes that the whole machine's want of memory killed.
// Guarantees: only what happens after the start is told; a machine that lets nobody read the log goes without.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import os from 'node:os';
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import { type OomKill, parseOomKill, parseRecord } from './oom.js';

const PERIOD_MS = 5_000;
const RECORD_BYTES = 8192;

interface OomWatcherOptions {
  readonly killed: (kill: OomKill) => void;
  readonly log: Log;
  readonly file?: string;
}

export class OomWatcher {
  readonly #options: OomWatcherOptions;

  readonly #sinceUs = os.uptime() * 1e6;
  #file: FileHandle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: OomWatcherOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { log, file = '/dev/kmsg' } = this.#options;
    try {
      // Without waiting: a read that waits would hold one of the few threads of the process for ever.
      this.#file = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
      await this.#next();
    } catch (error) {
      log.info('the kernel log cannot be read: out-of-memory kills of the system are not told', {
        error: messageOf(error),
      });
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#file?.close();
    this.#file = undefined;
  }

  async #next(): Promise<void> {
    await this.#drain();
    if (!this.#stopped)
      this.#timer = setTimeout(
        () =>
          void this.#next().catch((error: unknown) =>
            this.#options.log.warn('the kernel log ended', { error }),
          ),
        PERIOD_MS,
      );
  }

  /** Each read gives one record, until there is none. */
  async #drain(): Promise<void> {
    const buffer = Buffer.alloc(RECORD_BYTES);
    while (!this.#stopped && this.#file !== undefined) {
      let size: number;
      try {
        ({ bytesRead: size } = await this.#file.read(buffer, 0, buffer.length, null));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EPIPE') continue; // the oldest records were overwritten before they were read
        if (code === 'EAGAIN' || code === 'EBADF') return;
        throw error;
      }
      if (size === 0) return;
      const record = parseRecord(buffer.subarray(0, size).toString());
      const kill =
        record === undefined || record.atUs < this.#sinceUs ? undefined : parseOomKill(record.text);
      if (kill !== undefined) this.#options.killed(kill);
    }
  }
}
