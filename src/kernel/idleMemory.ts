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
  /** Frees what nobody holds, in this process' own heaps. */
  readonly collect: () => void;
  /** Gives what is free there back to the kernel. */
  readonly trim: () => void;
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
  collect,
  trim: () => addon().releaseFreed(),
};

/** V8 frees buffers, and objects that were made in C++, on a thread of its own after the collection. */
const TRIM_AFTER_MS = 1000;

/** All threads of V8 stop for a large heap's collection: work is worth so much of it. */
const WORTH = 100;

/** Answers how to stop it. */
export function keepIdleMemorySmall(options: Partial<IdleMemoryOptions> = {}): () => void {
  const {
    everyMs,
    growthBytes,
    busyShare,
    quietShare,
    quietMs,
    workMs,
    nowMs,
    resident,
    busy,
    collect,
    trim,
  } = {
    ...DEFAULTS,
    ...options,
  };
  let floor = resident();
  let workedMs = 0;
  let worthMs = workMs;
  let beenQuietMs = 0;
  let trimming: NodeJS.Timeout | undefined;
  const look = () => {
    const share = busy();
    const now = resident();
    floor = Math.min(floor, now);
    workedMs += share * everyMs;
    beenQuietMs = share > quietShare ? 0 : beenQuietMs + everyMs;
    const isWorthIt = now - floor >= growthBytes || (beenQuietMs >= quietMs && workedMs >= worthMs);
    if (!isWorthIt || share > busyShare) return;
    const beganMs = nowMs();
    collect();
    floor = resident();
    workedMs = 0;
    worthMs = Math.max(workMs, WORTH * (nowMs() - beganMs));
    trimming = setTimeout(trim, TRIM_AFTER_MS).unref();
  };
  const timer = setInterval(look, everyMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    clearTimeout(trimming);
  };
}

/** What is given back once the process is quiet, at once. */
export async function releaseUnused(): Promise<void> {
  DEFAULTS.collect();
  await new Promise((resolve) => setTimeout(resolve, TRIM_AFTER_MS));
  DEFAULTS.trim();
}

function busySince(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const { utilization } = performance.eventLoopUtilization(last);
    last = performance.eventLoopUtilization();
    return utilization;
  };
}

let collector: (() => void) | undefined;

/** Stops every thread of V8 for as long as a large heap takes. */
function collect(): void {
  if (collector === undefined) {
    // The function exists in contexts that are made after the flag was set.
    setFlagsFromString('--expose-gc');
    collector = runInNewContext('gc') as () => void;
  }
  collector();
}
