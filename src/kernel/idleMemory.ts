// Gives memory back when a burst is over: V8 collects only while something is allocated, and malloc keeps what was freed.
// Guarantees: nothing is collected while the process is busy, nor again before it has grown again or, once it is quiet, has
// worked a hundred times as long as the collection took: what is in use during a burst is garbage after it.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { addon } from './addon.js';

interface IdleMemoryOptions {
  readonly everyMs: number;
  /** Growth that is worth a collection. */
  readonly growthBytes: number;
  /** Of the event loop's time, above which the process is busy. */
  readonly busyShare: number;
  /** Of that time, below which the process is quiet. */
  readonly quietShare: number;
  /** How long it must have been quiet for a collection that growth alone does not call for. */
  readonly quietMs: number;
  /** The event loop's work since the last collection that is worth one then, at least. */
  readonly workMs: number;
  readonly nowMs: () => number;
  readonly resident: () => number;
  /** The share of time since the last call that the event loop worked. */
  readonly busy: () => number;
  readonly release: () => void;
}

const DEFAULTS: IdleMemoryOptions = {
  everyMs: 15_000,
  growthBytes: 16_000_000,
  busyShare: 0.2,
  quietShare: 0.05,
  quietMs: 45_000,
  workMs: 5_000,
  nowMs: () => performance.now(),
  resident: () => process.memoryUsage.rss(),
  busy: busySince(),
  release: releaseUnused,
};

/** All threads of V8 stop for a large heap's collection: work is worth so much of it. */
const WORTH = 100;

/** Answers how to stop it. */
export function keepIdleMemorySmall(options: Partial<IdleMemoryOptions> = {}): () => void {
  const { everyMs, growthBytes, busyShare, quietShare, quietMs, workMs, nowMs, resident, busy, release } = {
    ...DEFAULTS,
    ...options,
  };
  let floor = resident();
  let workedMs = 0;
  let worthMs = workMs;
  let beenQuietMs = 0;
  const look = () => {
    const share = busy();
    const now = resident();
    floor = Math.min(floor, now);
    workedMs += share * everyMs;
    beenQuietMs = share > quietShare ? 0 : beenQuietMs + everyMs;
    const isWorthIt = now - floor >= growthBytes || (beenQuietMs >= quietMs && workedMs >= worthMs);
    if (!isWorthIt || share > busyShare) return;
    const beganMs = nowMs();
    release();
    floor = resident();
    workedMs = 0;
    worthMs = Math.max(workMs, WORTH * (nowMs() - beganMs));
  };
  const timer = setInterval(look, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

function busySince(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const { utilization } = performance.eventLoopUtilization(last);
    last = performance.eventLoopUtilization();
    return utilization;
  };
}

let collect: (() => void) | undefined;

function releaseUnused(): void {
  if (collect === undefined) {
    // The function exists in contexts that are made after the flag was set.
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
  addon().releaseFreed();
}
