// Workers that take keys from a queue and bring each to its wanted state.
// Guarantees: a failure is logged and tried again after the key's back-off; it never ends a worker. Timers and sockets
// get their turn however many keys there are.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import type { WorkQueue } from './workQueue.js';

interface WorkersOptions {
  readonly queue: WorkQueue;
  readonly concurrency: number;
  /** Looks at the key's object and acts; throwing means "again later". */
  sync(key: string): Promise<void>;
  readonly log: Log;
  /** Shuts the queue down; keys already in it are still worked on. */
  readonly signal?: AbortSignal;
}

/** Keys that need no request follow one another without a turn of the event loop; this long at most. */
const TURN_MS = 10;

/** Resolves when the queue is shut down and every worker has finished. */
export async function runWorkers({ queue, concurrency, sync, log, signal }: WorkersOptions): Promise<void> {
  const shutDown = () => queue.shutDown();
  if (signal?.aborted === true) shutDown();
  signal?.addEventListener('abort', shutDown, { once: true });
  const work = async () => {
    let turnBegan = performance.now();
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      try {
        await sync(key);
        queue.forget(key);
      } catch (error) {
        log.warn('sync failed, will try again', {
          key,
          error: messageOf(error),
          tries: queue.requeues(key) + 1,
        });
        queue.addRateLimited(key);
      } finally {
        queue.done(key);
      }
      if (performance.now() - turnBegan < TURN_MS) continue;
      await nextTurn();
      turnBegan = performance.now();
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
  } finally {
    signal?.removeEventListener('abort', shutDown);
  }
}
