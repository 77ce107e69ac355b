// The pod lifecycle event generator: relists the runtime each second and tells which pods changed.
// Guarantees: a change is delivered before the record of it advances; one pod that cannot be read delays no other.
import type { Log } from '../api/log.js';
import type { RuntimeService } from '../cri/runtime.js';
import { messageOf } from './error.js';
import type { PodCache } from './runtime/podCache.js';

/** The native differ: keeps the last lists, answers what changed since the last commit. */
export interface PlegDiffer {
  relist(
    sandboxes: Buffer,
    containers: Buffer,
  ): Promise<{
    readonly changed: readonly {
      readonly podUid: string;
      readonly events: readonly { readonly type: string; readonly id: string }[];
    }[];
    commit(): void;
  }>;
}

export interface PlegOptions {
  readonly runtime: RuntimeService;
  readonly differ: PlegDiffer;
  readonly cache: PodCache;
  readonly periodMs: number;
  readonly now: () => number;
  readonly log: Log;
  readonly changed: (podUid: string) => void;
  /** For the metrics: when each relist began and ended, by the clock of `now`. */
  readonly relisted?: (startedMs: number, endedMs: number, succeeded: boolean) => void;
}

/** After this long without a relist the kubelet says that it is not healthy. */
const HEALTHY_MS = 180_000;
const PARALLEL = 16;
const FETCH_MS = 10_000;

export class Pleg {
  private lastRelist = Number.NEGATIVE_INFINITY;
  private retry = new Set<string>();
  private stopped = false;
  private wake: (() => void) | undefined;
  private loop: Promise<void> | undefined;

  constructor(private readonly options: PlegOptions) {}

  /** Resolves after the first complete relist: only then is it known what runs. */
  async start(): Promise<void> {
    while (!this.stopped && !(await this.relist())) await this.pause(this.options.periodMs);
    this.loop = this.run();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.wake?.();
    await this.loop;
  }

  /** Undefined while healthy; otherwise what the node's Ready condition says. */
  unhealthy(): string | undefined {
    if (this.lastRelist === Number.NEGATIVE_INFINITY) return 'pleg has yet to be successful';
    const elapsed = this.options.now() - this.lastRelist;
    if (elapsed <= HEALTHY_MS) return undefined;
    return `pleg was last seen active ${Math.round(elapsed / 1000)}s ago; threshold is 3m0s`;
  }

  /** One look at the runtime; false when its lists could not be had. */
  async relist(): Promise<boolean> {
    const { runtime, differ, cache, now, log, changed } = this.options;
    const at = now();
    try {
      const lists = await Promise.all([runtime.listPodSandboxBytes(), runtime.listContainersBytes()]);
      const diff = await differ.relist(...lists);
      const uids = new Set([...diff.changed.map(({ podUid }) => podUid), ...this.retry]);
      const failed = new Set<string>();
      await inParallel([...uids], PARALLEL, async (uid) => {
        try {
          await within(FETCH_MS, cache.refresh(uid));
          changed(uid);
        } catch (error) {
          // Asked again at the next relist; the others' news is not held back.
          failed.add(uid);
          log.warn('cannot read a pod from the runtime', { podUid: uid, error: messageOf(error) });
        }
      });
      this.retry = failed;
      if (failed.size === 0) cache.completed(at);
      diff.commit();
      this.lastRelist = now();
      this.options.relisted?.(at, this.lastRelist, true);
      return true;
    } catch (error) {
      log.warn('cannot list the runtime', { error: messageOf(error) });
      this.options.relisted?.(at, now(), false);
      return false;
    }
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      await this.pause(this.options.periodMs);
      if (!this.stopped) await this.relist();
    }
  }

  private async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A pod that the runtime cannot tell of in time is left for the next relist. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
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
