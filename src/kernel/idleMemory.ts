// Gives memory back when a burst is over: V8 collects only while something is allocated, and malloc keeps what was freed.
// Guarantees: nothing is collected while the process is busy, nor again before it has grown again.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { addon } from './addon.js';

export interface IdleMemoryOptions {
  readonly everyMs: number;
  /** Growth that is worth a collection. */
  readonly growthBytes: number;
  /** Of the event loop's time, above which the process is busy. */
  readonly busyShare: number;
  readonly resident: () => number;
  /** The share of time since the last call that the event loop worked. */
  readonly busy: () => number;
  readonly release: () => void;
}

const DEFAULTS: IdleMemoryOptions = {
  everyMs: 15_000,
  growthBytes: 16_000_000,
  busyShare: 0.2,
  resident: () => process.memoryUsage.rss(),
  busy: busySince(),
  release: releaseUnused,
};

/** Answers how to stop it. */
export function keepIdleMemorySmall(options: Partial<IdleMemoryOptions> = {}): () => void {
  const { everyMs, growthBytes, busyShare, resident, busy, release } = { ...DEFAULTS, ...options };
  let floor = resident();
  const look = () => {
    const share = busy();
    const now = resident();
    floor = Math.min(floor, now);
    if (now - floor < growthBytes || share > busyShare) return;
    release();
    floor = resident();
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
