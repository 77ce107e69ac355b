// Keeps containers' logs within their size: renames, has the runtime open a new file, compresses what is older.
// Guarantees: no line is lost, since the runtime goes on writing to the renamed file until it has opened the next; what a
// crash left half done is finished in the next round.
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Log } from '../../api/log.js';
import { LONGEST_TIMER_MS } from '../../base/deadline.js';
import { messageOf } from '../../base/errorMessage.js';
import type { ContainerStatus, RuntimeService } from '../../cri/runtime.js';
import type { KubeletConfig } from '../config.js';
import { isMissing } from '../volumes/files.js';
import { planRotation, rotatedName } from './rotation.js';

interface LogRotatorOptions {
  readonly config: Pick<
    KubeletConfig,
    'podLogsDir' | 'containerLogMaxBytes' | 'containerLogMaxFiles' | 'containerLogMonitorIntervalMs'
  >;
  readonly runtime: Pick<RuntimeService, 'reopenContainerLog'>;
  readonly running: () => readonly ContainerStatus[];
  readonly log: Log;
  readonly now: () => number;
}

export class LogRotator {
  readonly #options: LogRotatorOptions;

  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: LogRotatorOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(
      () => void this.round().then(() => this.start()),
      Math.min(this.#options.config.containerLogMonitorIntervalMs, LONGEST_TIMER_MS),
    );
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Looks at every log once; one that cannot be rotated is tried again the next time. */
  async round(): Promise<void> {
    const { config, runtime, running, log } = this.#options;
    for (const run of running())
      try {
        if (!run.logPath.startsWith(`${config.podLogsDir}/`)) continue;
        const found = await lstat(run.logPath).catch(undefinedIfMissing);
        // A kubelet that ended between renaming and reopening left the runtime at the renamed file.
        if (found === undefined) await runtime.reopenContainerLog(run.id);
        else if (found.isFile() && found.size >= config.containerLogMaxBytes) await this.#rotate(run);
      } catch (error) {
        log.warn('cannot rotate a log', { file: run.logPath, error: messageOf(error) });
      }
  }

  async #rotate({ id, logPath }: ContainerStatus): Promise<void> {
    const { config, runtime, now } = this.#options;
    const directory = path.dirname(logPath);
    const base = path.basename(logPath);
    const names = await readdir(directory);
    const next = rotatedName(base, now());
    // Names tell seconds: another of this second would take the place of the one before.
    if (names.includes(next) || names.includes(`${next}.gz`)) return;
    const { remove, compress } = planRotation(base, names, config.containerLogMaxFiles);
    for (const name of remove) await rm(path.join(directory, name), { force: true });
    for (const name of compress) await compressLog(path.join(directory, name));
    const rotated = path.join(directory, next);
    await rename(logPath, rotated);
    try {
      await runtime.reopenContainerLog(id);
    } catch (error) {
      // Back to its name, or readers would find no log at all.
      await rename(rotated, logPath);
      throw error;
    }
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

async function compressLog(file: string): Promise<void> {
  await pipeline(createReadStream(file), createGzip(), createWriteStream(`${file}.tmp`, { mode: 0o640 }));
  await rename(`${file}.tmp`, `${file}.gz`);
  await rm(file);
}
