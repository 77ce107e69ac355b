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
  if (options.path === '-') return sinkOf(process.stdout, log);
  const file = path.resolve(options.path);
  let size = 0;
  const open = () => {
    size = existsSync(file) ? statSync(file).size : 0;
    // Opened at once: lines that still wait to be written go with their file when it is set aside.
    const stream = createWriteStream(file, { fd: openSync(file, 'a', 0o600) });
    stream.on('error', (error) => log.error('the audit log cannot be written', { error: error.message }));
    return stream;
  };
  let stream: WriteStream;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    stream = open();
  } catch (cause) {
    throw new ApiServerError('AUDIT_LOG', `the audit log ${file} cannot be opened: ${String(cause)}`, {
      cause,
    });
  }
  const counts = { written: 0, lost: 0 };
  const rotate = () => {
    try {
      renameSync(file, freeBackupName(file, Date.now()));
    } catch (error) {
      log.error('the audit log cannot be set aside', { error: String(error) });
    }
    try {
      const full = stream;
      stream = open();
      full.end();
    } catch (error) {
      log.error('the audit log cannot be opened anew', { error: String(error) });
    }
    dropBackups(file, maxBackups).catch((error: Error) =>
      log.warn('old audit logs cannot be removed', { error: error.message }),
    );
  };
  return {
    get written() {
      return counts.written;
    },
    get lost() {
      return counts.lost;
    },
    write(line) {
      const bytes = Buffer.byteLength(line) + 1;
      if (stream.writableLength > MAX_WAITING || stream.destroyed) {
        if (counts.lost === 0) log.error('the audit log does not keep up; lines are lost');
        counts.lost += 1;
        return;
      }
      if (maxSizeMb > 0 && size > 0 && size + bytes > maxSizeMb * MEGABYTE) rotate();
      size += bytes;
      counts.written += 1;
      stream.write(`${line}\n`);
    },
    close: () => new Promise((resolve) => (stream.destroyed ? resolve() : stream.end(() => resolve()))),
  };
}

function sinkOf(stream: NodeJS.WriteStream, log: Log): AuditSink {
  const counts = { written: 0, lost: 0 };
  return {
    get written() {
      return counts.written;
    },
    get lost() {
      return counts.lost;
    },
    write(line) {
      if (stream.writableLength > MAX_WAITING) {
        if (counts.lost === 0) log.error('the audit log does not keep up; lines are lost');
        counts.lost += 1;
        return;
      }
      counts.written += 1;
      stream.write(`${line}\n`);
    },
    close: async () => {},
  };
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
