// Times two ways of doing one job, sample by sample in turn, so that both meet the same machine.
// Guarantees: preparing and cleaning are not timed; who begins changes from round to round; the first round is thrown away.
//
// benny repeats a function without a pause between two samples, which a job that changes the kernel's state does not
// allow: it needs a fresh namespace each time. Such jobs are timed here; repeatable ones go through benny (steady.ts).
import { againstPeer, type Figure } from './figure.js';
import { runsOf } from './options.js';

export interface Contestant<T> {
  readonly name: string;
  prepare(): Promise<T>;
  run(prepared: T): Promise<void>;
  clean(prepared: T): Promise<void>;
}

interface Comparison<A, B> {
  readonly name: string;
  readonly runs: number;
  readonly ours: Contestant<A>;
  readonly peer: Contestant<B>;
  /** Our time over the peer's may be at most this. */
  readonly atMost: number;
}

export async function compare<A, B>(job: Comparison<A, B>): Promise<Figure> {
  const [samples, peerSamples] = await inTurns(
    runsOf(job.runs),
    () => time(job.ours),
    () => time(job.peer),
  );
  return againstPeer({ name: job.name, unit: 'ms', samples, peer: job.peer.name, peerSamples }, job.atMost);
}

/** Both measurements so many times, in turn. The round before warms files, caches and the compiler; it does not count. */
export async function inTurns<A, B = A>(
  runs: number,
  ours: () => Promise<A>,
  peer: () => Promise<B>,
): Promise<[A[], B[]]> {
  const [mine, theirs]: [A[], B[]] = [[], []];
  for (let round = 0; round <= runs; round++) {
    const last = round % 2 === 0 ? undefined : await peer();
    const own = await ours();
    const other = last ?? (await peer());
    if (round === 0) continue;
    mine.push(own);
    theirs.push(other);
  }
  return [mine, theirs];
}

/** The same measurement so many times, one after the other; each makes its own place. */
export async function repeated<T>(runs: number, measure: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  while (results.length < runs) results.push(await measure());
  return results;
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
