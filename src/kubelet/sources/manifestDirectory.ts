// Static pods from a directory of manifests: one pod a file, looked at when the kernel tells of a change and now and then.
// Guarantees: a file that cannot be read or is wrong keeps its last good pod and stops no other.
import { type FSWatcher, watch } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../../api/log.js';
import { LONGEST_TIMER_MS } from '../../base/deadline.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Pod } from '../ports.js';
import { parseManifest } from './manifest.js';

interface ManifestDirectoryOptions {
  readonly directory: string;
  readonly nodeName: string;
  readonly checkFrequencyMs: number;
  readonly now: () => number;
  readonly log: Log;
  /** Every pod that the directory holds. */
  readonly changed: (pods: readonly Pod[]) => void;
}

const EXTENSIONS = ['.yaml', '.yml', '.json', '.manifest'];
const MAX_BYTES = 1 << 20;
/** Editors write a file in several steps; what settles within this time is read once. */
const SETTLE_MS = 50;

interface Known {
  readonly text: string;
  readonly pod: Pod | undefined;
}

export class ManifestDirectory {
  readonly #options: ManifestDirectoryOptions;

  #files = new Map<string, Known>();
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #settling: NodeJS.Timeout | undefined;
  #scanning: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: ManifestDirectoryOptions) {
    this.#options = options;
  }

  /** Resolves after the first look. */
  async start(): Promise<void> {
    await this.scan();
    this.#timer = setInterval(() => this.scan(), Math.min(this.#options.checkFrequencyMs, LONGEST_TIMER_MS));
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#settling);
    this.#watcher?.close();
  }

  /** One look after the other, never two at a time. */
  scan(): Promise<void> {
    this.#scanning = this.#scanning.then(() => (this.#stopped ? undefined : this.#look()));
    return this.#scanning;
  }

  async #look(): Promise<void> {
    const { directory, log, changed } = this.#options;
    this.#watchAgain();
    let names: string[];
    try {
      names = await readdir(directory);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        // Not knowing is no reason to stop pods.
        log.error('cannot read the manifest directory', { directory, error: messageOf(error) });
        return;
      }
      names = [];
    }
    const manifests = names.filter(
      (name) => !name.startsWith('.') && EXTENSIONS.includes(path.extname(name)),
    );
    const files = new Map<string, Known>();
    for (const name of manifests.sort()) {
      const known = await this.#read(path.join(directory, name));
      if (known !== undefined) files.set(name, known);
    }
    this.#files = files;
    changed(this.#unique(files));
  }

  async #read(file: string): Promise<Known | undefined> {
    const { nodeName, now, log } = this.#options;
    const before = this.#files.get(path.basename(file));
    let text: string;
    try {
      text = await readRegular(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      log.error('cannot read a manifest', { file, error: messageOf(error) });
      return before;
    }
    if (before?.text === text) return before;
    try {
      return { text, pod: parseManifest(text, { file, nodeName, now: now() }) };
    } catch (error) {
      log.error('a manifest is wrong', { error: messageOf(error) });
      return { text, pod: before?.pod };
    }
  }

  /** Two files for one pod: the first by name counts. */
  #unique(files: ReadonlyMap<string, Known>): readonly Pod[] {
    const pods = new Map<string, Pod>();
    for (const [file, { pod }] of files) {
      if (pod === undefined) continue;
      const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
      if (pods.has(key)) this.#options.log.error('two manifests have the same pod', { file, pod: key });
      else pods.set(key, pod);
    }
    return [...pods.values()];
  }

  /** The directory may come into being later, or be replaced: each look makes sure that it is watched. */
  #watchAgain(): void {
    if (this.#watcher !== undefined) return;
    try {
      const watcher = watch(this.#options.directory, () => this.#settle());
      const drop = () => {
        watcher.close();
        this.#watcher = undefined;
      };
      watcher.on('error', drop);
      watcher.on('close', () => {
        this.#watcher = undefined;
      });
      this.#watcher = watcher;
    } catch {
      // Not there yet, or no inotify left: the timer looks.
    }
  }

  #settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.scan(), SETTLE_MS);
  }
}

async function readRegular(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw new Error('is not a regular file');
    if (stat.size > MAX_BYTES) throw new Error('is larger than 1 MiB');
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
