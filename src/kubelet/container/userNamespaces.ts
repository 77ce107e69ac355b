// Ranges of the node's user and group ids for pods that have their own (hostUsers: false).
// Guarantees: no two pods share an id with each other or with the node; a pod keeps its range over restarts of the kubelet;
// a record that cannot be understood stops no pod.
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { IdMapping } from '../../cri/runtime.js';
import { KubeletError } from '../error.js';
import { isMissing, podDir } from '../volumes/files.js';

/** What a pod gets, and what the node keeps for itself: all ids of 16 bits. */
const LENGTH = 65_536;
const FILE = 'userns';

interface UserNamespacesOptions {
  readonly rootDir: string;
  readonly maxPods: number;
  /** Pods that have a directory. */
  readonly podsOnDisk: () => Promise<readonly string[]>;
}

export class UserNamespaces {
  readonly #options: UserNamespacesOptions;

  /** The number of its range by pod uid. */
  readonly #taken = new Map<string, number>();
  #known: Promise<void> | undefined;

  constructor(options: UserNamespacesOptions) {
    this.#options = options;
  }

  /** The range of the pod, in its directory from the first time on, which must be there. */
  async rangeOf(uid: string): Promise<IdMapping> {
    this.#known ??= this.#recall();
    // A disk that cannot be read now may be read for the next pod.
    await this.#known.catch((error: unknown) => {
      this.#known = undefined;
      throw error;
    });
    const own = this.#taken.get(uid) ?? this.#take(uid);
    const mapping = { hostId: own * LENGTH, containerId: 0, length: LENGTH };
    const record = { uidMappings: [mapping], gidMappings: [mapping] };
    const file = this.#fileOf(uid);
    await writeFile(`${file}.new`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${file}.new`, file);
    return mapping;
  }

  forget(uid: string): void {
    this.#taken.delete(uid);
  }

  #take(uid: string): number {
    const others = new Set(this.#taken.values());
    for (let number = 1; number <= this.#options.maxPods; number++)
      if (!others.has(number)) {
        this.#taken.set(uid, number);
        return number;
      }
    throw new KubeletError('CreatePodSandboxError', 'no range of user ids is left for this pod');
  }

  async #recall(): Promise<void> {
    for (const uid of await this.#options.podsOnDisk()) {
      const text = await readFile(this.#fileOf(uid), 'utf8').catch((error: unknown) => {
        if (isMissing(error)) return '';
        throw error;
      });
      const number = rangeIn(text);
      if (number !== undefined) this.#taken.set(uid, number);
    }
  }

  #fileOf(uid: string): string {
    return path.join(podDir(this.#options.rootDir, uid), FILE);
  }
}

/** The number of the range that a record holds; undefined of one that says nothing. */
function rangeIn(text: string): number | undefined {
  try {
    const { uidMappings } = JSON.parse(text) as { uidMappings: readonly IdMapping[] };
    const number = (uidMappings[0]?.hostId ?? 0) / LENGTH;
    return Number.isInteger(number) && number > 0 ? number : undefined;
  } catch {
    return undefined; // cut short by a full disk, or another's: its pod gets another range
  }
}
