// The audit log as a file: one JSON line per request, rotated when it is large.
// Guarantees: the file is readable by its owner alone; when the disk does not keep up, lines are counted as lost, memory is
// not filled; of the files beside it only those that it set aside itself are ever removed, the oldest first.
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  type WriteStream,
} from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../../api/log.js';
import { ApiServerError } from '../error.js';

export interface AuditSink {
  write(line: string): void;
  readonly written: number;
  readonly lost: number;
  close(): Promise<void>;
}

interface AuditLogOptions {
  /** `-` is standard output. */
  readonly path: string;
  /** --audit-log-maxsize, in megabytes. */
  readonly maxSizeMb?: number;
  /** --audit-log-maxbackup; 0 keeps all. */
  readonly maxBackups?: number;
  readonly log: Log;
}

const DEFAULT_SIZE_MB = 100;
const MEGABYTE = 1024 * 1024;
const MAX_WAITING = 16 * MEGABYTE;

export function openAuditLog(options: AuditLogOptions): AuditSink {
  const { log, maxSizeMb = DEFAULT_SIZE_MB, maxBackups = 0 } = options;
  if (options.path === '-') return sinkOf(new StandardOutput(), log);
  const file = path.resolve(options.path);
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    return sinkOf(new RotatingFile(file, { log, maxSize: maxSizeMb * MEGABYTE, maxBackups }), log);
  } catch (cause) {
    throw new ApiServerError('AUDIT_LOG', `the audit log ${file} cannot be opened: ${String(cause)}`, {
      cause,
    });
  }
}

/** Where lines go. */
interface LineTarget {
  /** Whether it takes one more line now. */
  readonly keepsUp: boolean;
  write(line: string): void;
  close(): Promise<void>;
}

function sinkOf(target: LineTarget, log: Log): AuditSink {
  const counts = { written: 0, lost: 0 };
  return {
    get written() {
      return counts.written;
    },
    get lost() {
      return counts.lost;
    },
    write(line) {
      if (!target.keepsUp) {
        if (counts.lost === 0) log.error('the audit log does not keep up; lines are lost');
        counts.lost += 1;
        return;
      }
      counts.written += 1;
      target.write(`${line}\n`);
    },
    close: () => target.close(),
  };
}

class StandardOutput implements LineTarget {
  get keepsUp(): boolean {
    return process.stdout.writableLength <= MAX_WAITING;
  }

  write(line: string): void {
    process.stdout.write(line);
  }

  async close(): Promise<void> {}
}

interface RotationOptions {
  readonly log: Log;
  /** In bytes; 0 for one that is never set aside. */
  readonly maxSize: number;
  readonly maxBackups: number;
}

class RotatingFile implements LineTarget {
  readonly #file: string;
  readonly #options: RotationOptions;
  #stream: WriteStream;
  #size = 0;

  constructor(file: string, options: RotationOptions) {
    this.#file = file;
    this.#options = options;
    this.#stream = this.#open();
  }

  get keepsUp(): boolean {
    return this.#stream.writableLength <= MAX_WAITING && !this.#stream.destroyed;
  }

  write(line: string): void {
    const { maxSize } = this.#options;
    const bytes = Buffer.byteLength(line);
    if (maxSize > 0 && this.#size > 0 && this.#size + bytes > maxSize) this.#rotate();
    this.#size += bytes;
    this.#stream.write(line);
  }

  close(): Promise<void> {
    const stream = this.#stream;
    return new Promise((resolve) => (stream.destroyed ? resolve() : stream.end(() => resolve())));
  }

  #open(): WriteStream {
    this.#size = existsSync(this.#file) ? statSync(this.#file).size : 0;
    // Opened at once: lines that still wait to be written go with their file when it is set aside.
    const stream = createWriteStream(this.#file, { fd: openSync(this.#file, 'a', 0o600) });
    stream.on('error', (error) =>
      this.#options.log.error('the audit log cannot be written', { error: error.message }),
    );
    return stream;
  }

  #rotate(): void {
    const { log, maxBackups } = this.#options;
    try {
      renameSync(this.#file, freeBackupName(this.#file, Date.now()));
    } catch (error) {
      log.error('the audit log cannot be set aside', { error: String(error) });
    }
    try {
      const full = this.#stream;
      this.#stream = this.#open();
      full.end();
    } catch (error) {
      log.error('the audit log cannot be opened anew', { error: String(error) });
    }
    dropBackups(this.#file, maxBackups).catch((error: Error) =>
      log.warn('old audit logs cannot be removed', { error: error.message }),
    );
  }
}

/** `audit-2026-01-31T10-20-30.123.log` beside `audit.log`; a name that is taken would be overwritten. */
function freeBackupName(file: string, atMs: number): string {
  const { dir, name, ext } = path.parse(file);
  const stamp = new Date(atMs).toISOString().replaceAll(':', '-').replace('Z', '');
  const backup = path.join(dir, `${name}-${stamp}${ext}`);
  return existsSync(backup) ? freeBackupName(file, atMs + 1) : backup;
}

const STAMP = /^\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}$/;

async function dropBackups(file: string, keep: number): Promise<void> {
  if (keep <= 0) return;
  const { dir, name, ext } = path.parse(file);
  const isOwn = (entry: string) =>
    entry.startsWith(`${name}-`) &&
    entry.endsWith(ext) &&
    STAMP.test(entry.slice(name.length + 1, entry.length - ext.length));
  const backups = (await readdir(dir)).filter(isOwn).sort();
  for (const old of backups.slice(0, -keep)) await rm(path.join(dir, old), { force: true });
}
