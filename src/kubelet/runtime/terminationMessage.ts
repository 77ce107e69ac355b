// What a container left to say: its termination message file, or the end of its log.
// Guarantees: bounded (the last 4096 bytes of the file, 2048 bytes and 80 lines of the log), never through a link or a device.
import { constants, type FileHandle, open } from 'node:fs/promises';
import type { ContainerStatus } from '../../cri/runtime.js';
import { terminationMessagePath, terminationMessagePolicy } from '../names.js';
import { LogFormatter } from '../server/logs/line.js';

const MAX_MESSAGE = 4096;
const MAX_LOG_BYTES = 2048;
const MAX_LOG_LINES = 80;
const NEWLINE = 0x0a;

export async function terminationMessage(run: ContainerStatus, podLogsDir: string): Promise<string> {
  const path = terminationMessagePath(run);
  const mount = run.mounts.find(({ containerPath }) => containerPath === path);
  const said = mount === undefined ? '' : await readEnd(mount.hostPath);
  if (said !== '') return said;
  const fallback = terminationMessagePolicy(run) === 'FallbackToLogsOnError' && run.exitCode !== 0;
  if (fallback && run.logPath.startsWith(`${podLogsDir}/`)) return readLogTail(run.logPath);
  return run.message;
}

async function readEnd(path: string): Promise<string> {
  return withFile(path, async (file) => {
    const from = Math.max(0, (await file.stat()).size - MAX_MESSAGE);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_MESSAGE), 0, MAX_MESSAGE, from);
    return buffer.subarray(0, bytesRead).toString();
  });
}

async function readLogTail(path: string): Promise<string> {
  return withFile(path, async (file) => {
    const { size } = await file.stat();
    // A line of the log has a head of time, stream and tag; four times the message leaves room for it.
    const length = Math.min(size, MAX_LOG_BYTES * 4);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const lines = splitLines(buffer).slice(size > length ? 1 : 0);
    const formatter = new LogFormatter({ timestamps: false, sinceMs: undefined, stream: undefined });
    const text = Buffer.concat(lines.flatMap((line) => formatter.format(line)));
    return lastLines(text.subarray(-MAX_LOG_BYTES).toString());
  });
}

function splitLines(text: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let from = 0;
  for (let at = text.indexOf(NEWLINE); at !== -1; at = text.indexOf(NEWLINE, from)) {
    lines.push(text.subarray(from, at));
    from = at + 1;
  }
  return lines;
}

/** A text that ends in the middle of a line has that line as its last. */
function lastLines(text: string): string {
  const lines = text.split(/(?<=\n)/);
  return lines.slice(-MAX_LOG_LINES).join('');
}

/** The file is the container's to write: no link is followed, and only a regular file is read. */
async function withFile(path: string, read: (file: FileHandle) => Promise<string>): Promise<string> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return ''; // not there, or not a file to read: nothing was said
  }
  try {
    return (await file.stat()).isFile() ? await read(file) : '';
  } finally {
    await file.close();
  }
}
