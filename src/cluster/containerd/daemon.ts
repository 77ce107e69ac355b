// Runs the containerd of a cluster: writes its configuration, starts it, waits until it answers, stops it.
// Guarantees: a start that fails says so with the last lines of containerd's log; containers outlive stop(), as shims hold them.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openRuntime } from '../../cri/client.js';
import { CriError } from '../../cri/runtime.js';
import { type ContainerdOptions, containerdConfig, registryHosts } from './config.js';

export interface DaemonOptions {
  readonly containerd: ContainerdOptions;
  readonly configPath: string;
  /** Appended to. */
  readonly logPath: string;
  /** Registries on this machine, by the name that references of images have. */
  readonly registries: Readonly<Record<string, { readonly port: number; readonly caFile: string }>>;
  /** Found in PATH unless it is a path. */
  readonly program?: string;
  readonly readyTimeoutMs?: number;
}

export interface Daemon {
  readonly pid: number;
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** TERM, then KILL. Idempotent. */
  stop(): Promise<void>;
}

export class ContainerdError extends Error {
  override readonly name = 'ContainerdError';
  constructor(
    readonly code: 'NOT_STARTED' | 'NOT_READY',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
const PAUSE_MS = 50;
const LOG_LINES = 10;

export async function startContainerd(options: DaemonOptions): Promise<Daemon> {
  await writeConfiguration(options);
  const child = await launch(options);
  const ended = once(child, 'exit').then(() => undefined);
  const daemon = { pid: child.pid ?? 0, ended, stop: () => stop(child, ended) };
  try {
    await untilAnswers(options, child);
  } catch (error) {
    await daemon.stop();
    throw error;
  }
  return daemon;
}

async function writeConfiguration({ containerd, configPath, registries }: DaemonOptions): Promise<void> {
  const files = new Map([[configPath, containerdConfig(containerd)]]);
  for (const [name, hosts] of Object.entries(registries))
    files.set(join(containerd.registryConfigDir, name, 'hosts.toml'), registryHosts(hosts));
  for (const [file, text] of files) {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
}

async function launch({ program = 'containerd', configPath, logPath }: DaemonOptions): Promise<ChildProcess> {
  await mkdir(dirname(logPath), { recursive: true });
  const log = await open(logPath, 'a', 0o640);
  try {
    // A group of its own: what ends us from a terminal shall not end it before its pods are dealt with.
    const child = spawn(program, ['--config', configPath], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await once(child, 'spawn');
    return child;
  } catch (cause) {
    const why = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'it is not installed' : String(cause);
    throw new ContainerdError('NOT_STARTED', `${program} cannot be started: ${why}`, { cause });
  } finally {
    await log.close(); // the child has its own
  }
}

async function untilAnswers(options: DaemonOptions, child: ChildProcess): Promise<void> {
  const until = Date.now() + (options.readyTimeoutMs ?? READY_TIMEOUT_MS);
  const cri = openRuntime(`unix://${options.containerd.socketPath}`);
  let last: unknown;
  try {
    while (Date.now() < until && child.exitCode === null && child.signalCode === null) {
      try {
        await cri.runtime.version();
        return;
      } catch (error) {
        // Before its socket is there, and before the CRI is registered on it.
        if (!(error instanceof CriError && ['UNAVAILABLE', 'UNIMPLEMENTED', 'UNKNOWN'].includes(error.code)))
          throw error;
        last = error;
      }
      await sleep(PAUSE_MS);
    }
  } finally {
    cri.close();
  }
  const what = child.exitCode === null && child.signalCode === null ? 'does not answer' : 'ended at once';
  throw new ContainerdError('NOT_READY', `containerd ${what}: ${await lastLines(options.logPath)}`, {
    cause: last,
  });
}

async function lastLines(file: string): Promise<string> {
  const text = await readFile(file, 'utf8');
  return text.trim().split('\n').slice(-LOG_LINES).join('\n');
}

async function stop(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const deadline = new AbortController();
  const late = sleep(STOP_TIMEOUT_MS, 'late', { signal: deadline.signal }).catch(() => 'ended');
  if ((await Promise.race([ended, late])) === 'late') child.kill('SIGKILL');
  deadline.abort();
  await ended;
}
