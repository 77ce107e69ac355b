// Runs one program to its end: bytes in, bytes out, a limit on time and output.
// Guarantees: over the limit the program's whole process group is killed; the promise settles even when a grandchild keeps the pipes open.
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

interface ChildOptions {
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

export interface ChildResult {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Why we killed it, if we did. */
  readonly killed?: 'time' | 'output';
}

/** A file that is being replaced by an installer is busy for a moment. */
const BUSY_TRIES = 10;
const BUSY_WAIT_MS = 100;
/** What may still be in the pipes when the program is gone; longer only if someone else holds them. */
const DRAIN_MS = 500;

/** Resolves however it ended; rejects with the errno of a program that could not be started. */
export async function runChild(
  argv: readonly [string, ...string[]],
  options: ChildOptions,
): Promise<ChildResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(argv, options);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ETXTBSY' || attempt === BUSY_TRIES) throw error;
      await sleep(BUSY_WAIT_MS);
    }
  }
}

function runOnce(
  [file, ...args]: readonly [string, ...string[]],
  options: ChildOptions,
): Promise<ChildResult> {
  const { input, env, timeoutMs, maxOutputBytes } = options;
  return new Promise((resolve, reject) => {
    // Its own process group (detached), so that its children can be killed with it.
    const child = spawn(file, args, { env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    let killed: ChildResult['killed'];
    let drain: NodeJS.Timeout | undefined;
    const kill = (why: 'time' | 'output') => {
      killed ??= why;
      killGroup(child.pid);
    };
    const timer = setTimeout(() => kill('time'), timeoutMs);
    let left = maxOutputBytes;
    const count = (bytes: number) => {
      left -= bytes;
      if (left < 0) kill('output');
    };
    const stdout = collect(child.stdout, count);
    const stderr = collect(child.stderr, count);
    // A plugin that reads nothing (VERSION) closes the pipe early; its exit tells the rest.
    child.stdin.on('error', () => {});
    child.stdin.end(input);

    const settle = (end: () => void) => {
      clearTimeout(timer);
      clearTimeout(drain);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      end();
    };
    child.on('error', (error) => settle(() => reject(error)));
    child.on('exit', (status, signal) => {
      const done = () =>
        settle(() =>
          resolve({ status, signal, stdout: stdout(), stderr: stderr(), ...(killed && { killed }) }),
        );
      drain = setTimeout(done, DRAIN_MS);
      child.on('close', done);
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // already gone
  }
}

function collect(stream: Readable, count: (bytes: number) => void): () => string {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    count(chunk.length);
  });
  return () => Buffer.concat(chunks).toString('utf8');
}
