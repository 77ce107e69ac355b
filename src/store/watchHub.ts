// Hands committed changes to those who watch; whoever starts in the past is first given what it missed.
// Guarantees: each watcher sees its changes once and in order; one that throws is ended and disturbs nobody.
import type { StoreEvent, WatchOptions } from './store.js';

/** Past events in order, in pieces; a long past comes with pauses between, so that others are served meanwhile. */
type Past = AsyncIterable<readonly StoreEvent[]> | Iterable<readonly StoreEvent[]>;

interface Watcher extends WatchOptions {
  /** Everything up to this revision is known to it. */
  after: number;
  /** What happened while the past was being told; undefined once it has been. */
  missed: StoreEvent[] | undefined;
}

export class WatchHub {
  // Watchers of one prefix get one and the same array: a change to a thousand watchers is filtered once.
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #catchingUp = new Set<Promise<void>>();

  /**
   * `past` holds at least the changes after `options.after` that were published before this call; it may begin earlier,
   * reach further, and hold changes of other keys.
   */
  add(options: WatchOptions, past: Past): { close(): void } {
    const watcher: Watcher = {
      prefix: options.prefix,
      after: options.after,
      onEvents: (events) => options.onEvents(events),
      onError: (error) => options.onError(error),
      onProgress: (revision) => options.onProgress?.(revision),
      missed: [],
    };
    const group = this.#watchers.get(options.prefix) ?? new Set();
    this.#watchers.set(options.prefix, group.add(watcher));
    const caughtUp = this.#catchUp(watcher, past).finally(() => this.#catchingUp.delete(caughtUp));
    this.#catchingUp.add(caughtUp);
    return { close: () => this.#remove(watcher) };
  }

  publish(events: readonly StoreEvent[]): void {
    const newest = events.at(-1)?.revision ?? 0;
    for (const [prefix, group] of [...this.#watchers]) {
      const matching = events.filter(({ key }) => key.startsWith(prefix));
      for (const watcher of [...group]) {
        if (watcher.missed !== undefined) watcher.missed.push(...matching);
        else this.#deliver(watcher, matching, newest);
      }
    }
  }

  /** Ends every watch. */
  fail(error: Error): void {
    for (const group of [...this.#watchers.values()])
      for (const watcher of [...group]) this.#end(watcher, error);
  }

  /** Resolves when nobody reads the past any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#catchingUp);
  }

  async #catchUp(watcher: Watcher, past: Past): Promise<void> {
    try {
      // Not in the caller's turn: it has to get its handle before the first event.
      await undefined;
      for await (const events of past) {
        if (!this.#has(watcher)) return;
        this.#deliver(
          watcher,
          events.filter(({ key }) => key.startsWith(watcher.prefix)),
        );
      }
    } catch (error) {
      return this.#end(watcher, error as Error);
    }
    const missed = watcher.missed ?? [];
    watcher.missed = undefined;
    this.#deliver(watcher, missed, missed.at(-1)?.revision ?? 0);
  }

  #deliver(watcher: Watcher, events: readonly StoreEvent[], reached = 0): void {
    // A watch may begin at a revision that is committed but not yet published, and the past may reach into what came
    // while it was told.
    const first = events[0];
    const wanted =
      first !== undefined && first.revision <= watcher.after
        ? events.filter(({ revision }) => revision > watcher.after)
        : events;
    if (!this.#has(watcher)) return;
    watcher.after = Math.max(watcher.after, wanted.at(-1)?.revision ?? 0);
    try {
      if (wanted.length > 0) watcher.onEvents(wanted);
      if (reached >= watcher.after && reached > 0 && this.#has(watcher)) watcher.onProgress?.(reached);
    } catch (error) {
      this.#end(watcher, error as Error);
    }
  }

  #end(watcher: Watcher, error: Error): void {
    if (!this.#has(watcher)) return;
    this.#remove(watcher);
    try {
      watcher.onError(error);
    } catch {
      // It was told; what it does with that is not ours to mend.
    }
  }

  #has(watcher: Watcher): boolean {
    return this.#watchers.get(watcher.prefix)?.has(watcher) === true;
  }

  #remove(watcher: Watcher): void {
    const group = this.#watchers.get(watcher.prefix);
    group?.delete(watcher);
    if (group?.size === 0) this.#watchers.delete(watcher.prefix);
  }
}
