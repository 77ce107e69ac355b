// The pod lifecycle event generator: relists the runtime each second and tells which pods changed. Where the runtime
// tells of changes itself, a pod is looked at when it does, and relists become rare.
// Guarantees: a change is delivered before the record of it advances; one pod that cannot be read delays no other.
import type { Log } from '../api/log.js';
import { within } from '../base/deadline.js';
import { messageOf } from '../base/errorMessage.js';
import type { ContainerEvent, RuntimeService } from '../cri/runtime.js';
import { sleep } from './abort.js';
import { Outage } from './outage.js';
import type { PodCache } from './runtime/podCache.js';
import { livesIn, shows } from './runtime/runtimePod.js';

/** The native differ: keeps the last lists, answers what changed since the last commit. */
export interface PlegDiffer {
  relist(
    sandboxes: Buffer,
    containers: Buffer,
  ): Promise<{
    readonly changed: readonly { readonly podUid: string; readonly events: readonly PlegEvent[] }[];
    commit(): void;
  }>;
}

interface PlegEvent {
  readonly type: string;
  readonly id: string;
}

interface PlegOptions {
  readonly runtime: RuntimeService;
  readonly differ: PlegDiffer;
  readonly cache: PodCache;
  readonly periodMs: number;
  readonly now: () => number;
  readonly log: Log;
  readonly changed: (podUid: string) => void;
  /** Somebody is at work on the pod and looks at it when that is done. */
  readonly isBusy?: (podUid: string) => boolean;
  /** For the metrics: when each relist began and ended, by the clock of `now`. */
  readonly relisted?: (startedMs: number, endedMs: number, succeeded: boolean) => void;
}

/** After this long without a relist the kubelet says that it is not healthy. */
const HEALTHY_MS = 180_000;
const PARALLEL = 16;
/** A pod that is silent for this long while no other answers either is heard of in its own time; the relist goes on. */
const FETCH_MS = 1_000;
/** At the start nothing is known yet, and what is unknown is easily taken for gone. */
const FIRST_FETCH_MS = 10_000;
/** A runtime that is merely slow is waited for, but not longer than this. */
const LONGEST_FETCH_MS = 10_000;
/** Between relists while the runtime tells of changes itself: often enough for health, and for what it might miss. */
const RARE_MS = 60_000;
/** What happens to a pod while somebody is at work on it is left to him for this long. */
const BUSY_MS = 10_000;
const FIRST_FOLLOW_MS = 1_000;
/** Some runtimes tell of an end a moment before their own lists do; on a busy machine that moment is long. */
const FIRST_END_WAIT_MS = 5;
const SETTLE_MS = 10_000;
/** A runtime without such events is asked again now and then: it may have been exchanged for a newer one. */
const LONGEST_FOLLOW_MS = 600_000;

interface Look {
  again: boolean;
  done: Promise<void>;
}

/** What relists found of a pod and nobody has looked at: the last event of each id. */
interface Due {
  readonly since: number;
  readonly events: Map<string, PlegEvent>;
}

export class Pleg {
  readonly #options: PlegOptions;

  #lastRelist = Number.NEGATIVE_INFINITY;
  readonly #due = new Map<string, Due>();
  readonly #looks = new Map<string, Look>();
  /** When the runtime last answered for any pod. */
  #answeredAt = 0;
  /** Events have come on the stream that is open. */
  #isTold = false;
  /** Until then relists make sure of what has happened. */
  #unsureUntil = 0;
  readonly #ending = new AbortController();
  #following: Promise<void> | undefined;
  #stopped = false;
  #wake: (() => void) | undefined;
  #loop: Promise<void> | undefined;

  readonly #outage: Outage;

  constructor(options: PlegOptions) {
    this.#options = options;

    const { log, now } = options;
    this.#outage = new Outage({
      failing: 'cannot list the runtime',
      over: 'the runtime can be listed again',
      log,
      now,
    });
  }

  /** Resolves after the first complete relist: only then is it known what runs. */
  async start(): Promise<void> {
    while (!this.#stopped && !(await this.relist(FIRST_FETCH_MS))) await this.#pause(this.#options.periodMs);
    this.#loop = this.#run();
    this.#following = this.#follow();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#ending.abort();
    this.#wake?.();
    await Promise.all([this.#loop, this.#following]);
  }

  /** Undefined while healthy; otherwise what the node's Ready condition says. */
  unhealthy(): string | undefined {
    if (this.#lastRelist === Number.NEGATIVE_INFINITY) return 'pleg has yet to be successful';
    const elapsed = this.#options.now() - this.#lastRelist;
    if (elapsed <= HEALTHY_MS) return undefined;
    return `pleg was last seen active ${Math.round(elapsed / 1000)}s ago; threshold is 3m0s`;
  }

  /** One look at the runtime; false when its lists could not be had. */
  async relist(patienceMs = FETCH_MS): Promise<boolean> {
    const { runtime, differ, cache, now } = this.#options;
    const at = now();
    try {
      const lists = await Promise.all([runtime.listPodSandboxBytes(), runtime.listContainersBytes()]);
      const diff = await differ.relist(...lists);
      // Still asked by an earlier relist, which has waited for it once.
      const hung = new Set([...this.#due.keys()].filter((uid) => this.#looks.has(uid)));
      for (const { podUid, events } of diff.changed) this.#note(podUid, events);
      const uids = [...this.#due.keys()].filter((uid) => !hung.has(uid) && this.#mustLook(uid, at));
      await inParallel(uids, PARALLEL, (uid) => this.#lookBriefly(uid, patienceMs));
      if (this.#due.size === 0) cache.completed(at);
      diff.commit();
      this.#lastRelist = now();
      this.#outage.ended();
      this.#options.relisted?.(at, this.#lastRelist, true);
      return true;
    } catch (error) {
      this.#outage.failed(error);
      this.#options.relisted?.(at, now(), false);
      return false;
    }
  }

  /** Stays due until a look has succeeded or is not needed. */
  #note(uid: string, events: readonly PlegEvent[]): void {
    const due = this.#due.get(uid) ?? { since: this.#options.now(), events: new Map<string, PlegEvent>() };
    for (const event of events) due.events.set(event.id, event);
    this.#due.set(uid, due);
    const under = this.#looks.get(uid);
    if (under !== undefined) under.again = true; // its answer may be older than the event
  }

  /** What a pod's own worker has made and seen needs no look, and what it is about to see waits for it. */
  #mustLook(uid: string, at: number): boolean {
    const { cache, changed, now, isBusy } = this.#options;
    const { since, events } = this.#due.get(uid) as Due;
    const isBusyNow = isBusy?.(uid) === true && now() - since < BUSY_MS;
    const known = cache.get(uid);
    if (events.size === 0 || ![...events.values()].every((event) => shows(known, event))) return !isBusyNow;
    // Seen after the list was asked for: the next one tells whether it has stayed so.
    if (!isBusyNow && cache.confirm(uid, at)) {
      this.#due.delete(uid);
      changed(uid);
    }
    return false;
  }

  /** A pod that cannot be read in time is asked again at the next relist. */
  async #lookBriefly(uid: string, patienceMs: number): Promise<void> {
    try {
      await this.#whileAnswering(patienceMs, this.#look(uid));
    } catch (error) {
      this.#options.log.warn('cannot read a pod from the runtime', { podUid: uid, error: messageOf(error) });
    }
  }

  /** Waits for as long as the runtime answers for some pod or other. */
  async #whileAnswering(patienceMs: number, work: Promise<void>): Promise<void> {
    const begun = performance.now();
    for (;;) {
      const silentMs = performance.now() - Math.max(begun, this.#answeredAt);
      const leftMs = Math.min(patienceMs - silentMs, begun + LONGEST_FETCH_MS - performance.now());
      if (leftMs <= 0) throw new Error(`no answer within ${Math.round(performance.now() - begun) / 1000} s`);
      if ((await within(work, leftMs, () => 'late')) !== 'late') return;
    }
  }

  /** One fetch of a pod at a time; who asks meanwhile gets another one after it. */
  #look(uid: string): Promise<void> {
    const { cache, changed } = this.#options;
    const under = this.#looks.get(uid);
    if (under !== undefined) {
      under.again = true;
      return under.done;
    }
    const look: Look = { again: true, done: Promise.resolve() };
    const fetch = async () => {
      while (look.again) {
        look.again = false;
        await cache.refresh(uid);
      }
    };
    look.done = fetch()
      .finally(() => {
        this.#looks.delete(uid);
        this.#answeredAt = performance.now();
      })
      .then(() => {
        this.#due.delete(uid);
        changed(uid);
      });
    this.#looks.set(uid, look);
    return look.done;
  }

  async #run(): Promise<void> {
    const { periodMs, cache, now } = this.#options;
    while (!this.#stopped) {
      await this.#pause(periodMs);
      if (this.#stopped) return;
      if (this.#mayRest()) cache.completed(now() - periodMs);
      else await this.relist();
    }
  }

  /** The runtime tells of changes itself, it told of none for a while, and all have been looked at. */
  #mayRest(): boolean {
    const now = this.#options.now();
    if (!this.#isTold || now < this.#unsureUntil || this.#due.size + this.#looks.size > 0) return false;
    return now - this.#lastRelist < RARE_MS;
  }

  /** Follows the runtime's own events for as long as it gives them; without them the relists are enough. */
  async #follow(): Promise<void> {
    const { runtime, now, log } = this.#options;
    const { signal } = this.#ending;
    let waitMs = FIRST_FOLLOW_MS;
    while (!this.#stopped) {
      this.#unsureUntil = now() + SETTLE_MS; // what happened while nobody told is found by a relist
      try {
        await runtime.containerEvents((event) => {
          this.#isTold = true;
          waitMs = FIRST_FOLLOW_MS;
          this.#hear(event);
        }, signal);
      } catch (error) {
        log.debug('the runtime tells of no events', { error: messageOf(error) });
      }
      if (this.#isTold) this.#wake?.();
      this.#isTold = false;
      await sleep(waitMs, signal).catch(() => {}); // the loop's condition sees the signal
      waitMs = Math.min(waitMs * 2, LONGEST_FOLLOW_MS);
    }
  }

  /** Who is at work on a pod looks at it himself; the next relists make sure of that, and find what is unknown here. */
  #hear(event: ContainerEvent): void {
    const { cache, isBusy, now, log } = this.#options;
    this.#unsureUntil = now() + SETTLE_MS;
    const uid = event.podUid ?? cache.uidOf(event.containerId);
    if (uid === undefined || isBusy?.(uid) === true) return;
    this.#attend(uid, event).catch((error: unknown) => {
      if (this.#stopped) return;
      this.#note(uid, []);
      this.#wake?.();
      log.warn('cannot read a pod from the runtime', { podUid: uid, error: messageOf(error) });
    });
  }

  /** Looks at a pod until the runtime's answer shows what its event told. */
  async #attend(uid: string, { type, containerId }: ContainerEvent): Promise<void> {
    const { cache, periodMs } = this.#options;
    await this.#look(uid);
    if (type !== 'CONTAINER_STOPPED_EVENT') return;
    for (let waitMs = FIRST_END_WAIT_MS; livesIn(cache.get(uid), containerId); waitMs *= 2) {
      if (waitMs > periodMs) return; // relists go on meanwhile
      await sleep(waitMs, this.#ending.signal);
      await this.#look(uid);
    }
  }

  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const lane = async () => {
    for (let next = rest.next(); !next.done; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
}
