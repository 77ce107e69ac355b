// The last known state of every pod in the runtime, with the moment it was true.
// Guarantees: an older answer never replaces a newer one; `newerThan` asks the runtime only when it must.
import { emptyRuntimePod, type RuntimePod } from './runtimePod.js';

interface Entry {
  readonly pod: RuntimePod;
  /** When the asking began: the state is at least as new. */
  readonly at: number;
}

export class PodCache {
  readonly #fetch: (uid: string) => Promise<RuntimePod>;
  readonly #now: () => number;

  readonly #entries = new Map<string, Entry>();
  /** What is here was so in the runtime at this moment, and what is absent was absent. */
  #completeAt = Number.NEGATIVE_INFINITY;

  constructor(fetch: (uid: string) => Promise<RuntimePod>, now: () => number) {
    this.#fetch = fetch;
    this.#now = now;
  }

  /** Everything that had happened at this moment is here: a relist that began then was taken in whole, or all was told. */
  completed(at: number): void {
    this.#completeAt = Math.max(this.#completeAt, at);
  }

  /** The pod that has this container or sandbox, as far as is known here. */
  uidOf(id: string): string | undefined {
    for (const [uid, { pod }] of this.#entries)
      if ([...pod.sandboxes, ...pod.containers].some((one) => one.id === id)) return uid;
    return undefined;
  }

  /** A relist that began at this moment found the pod as it is here. False when what is here was asked for later than that. */
  confirm(uid: string, at: number): boolean {
    const entry = this.#entries.get(uid);
    if (entry !== undefined && entry.at >= at) return false;
    this.#entries.set(uid, { pod: entry?.pod ?? emptyRuntimePod(uid), at });
    return true;
  }

  get(uid: string): RuntimePod {
    return this.#entries.get(uid)?.pod ?? emptyRuntimePod(uid);
  }

  /** Everything that has a sandbox or a container. */
  pods(): readonly RuntimePod[] {
    return [...this.#entries.values()]
      .map(({ pod }) => pod)
      .filter(({ sandboxes, containers }) => sandboxes.length + containers.length > 0);
  }

  /** The pod as it was at that moment or later. */
  async newerThan(uid: string, at: number): Promise<RuntimePod> {
    const entry = this.#entries.get(uid);
    if (entry !== undefined && entry.at > at) return entry.pod;
    // A whole relist since then found nothing new of this pod, or it would have been fetched: a quiet pod costs no call.
    if (this.#completeAt > at) return entry?.pod ?? emptyRuntimePod(uid);
    return this.refresh(uid);
  }

  async refresh(uid: string): Promise<RuntimePod> {
    const at = this.#now();
    const pod = await this.#fetch(uid);
    const entry = this.#entries.get(uid);
    if (entry !== undefined && entry.at > at) return entry.pod;
    this.#entries.set(uid, { pod, at });
    return pod;
  }

  /** Forgets pods of which the runtime has nothing and the caller wants nothing. */
  dropEmpty(isUnwanted: (uid: string) => boolean): void {
    for (const [uid, { pod }] of this.#entries)
      if (pod.sandboxes.length + pod.containers.length === 0 && isUnwanted(uid)) this.#entries.delete(uid);
  }
}
