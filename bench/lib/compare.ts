// Times two ways of doing one job, sample by sample in turn, so that both meet the same machine.
// Guarantees: preparing and cleaning are not timed; the median counts.
//
// benny repeats a function without a pause between two samples, which a job that changes the kernel's state does not
// allow: it needs a fresh namespace each time. Such jobs are timed here; repeatable ones go through benny (steady.ts).
import { againstPeer, type Figure } from './figure.js';

export interface Contestant<T> {
  readonly name: string;
  prepare(): Promise<T>;
  run(prepared: T): Promise<void>;
  clean(prepared: T): Promise<void>;
}

export interface Comparison<A, B> {
  readonly name: string;
  readonly samples: number;
  readonly ours: Contestant<A>;
  readonly peer: Contestant<B>;
  /** Our time over the peer's may be at most this. */
  readonly atMost: number;
  /** What one sample's time is multiplied by, where a contestant does a part of the job only. */
  readonly peerScale?: number;
}

export async function compare<A, B>(job: Comparison<A, B>): Promise<Figure> {
  const ours: number[] = [];
  const peers: number[] = [];
  // The first round warms files, caches and the compiler; it does not count.
  for (let i = 0; i <= job.samples; i++) {
    const mine = await time(job.ours);
    const theirs = await time(job.peer);
    if (i === 0) continue;
    ours.push(mine);
    peers.push(theirs * (job.peerScale ?? 1));
  }
  const figure = {
    name: job.name,
    value: median(ours),
    unit: 'ms',
    peer: job.peer.name,
    peerValue: median(peers),
  };
  return againstPeer(figure, job.atMost);
}

async function time<T>(contestant: Contestant<T>): Promise<number> {
  const prepared = await contestant.prepare();
  try {
    const start = performance.now();
    await contestant.run(prepared);
    return performance.now() - start;
  } finally {
    await contestant.clean(prepared);
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
