// What all controllers share: their name, what they are given, and the loop of queue and workers.
// Guarantees: a key is worked on by one worker at a time, only after every cache has synced, again after a failure.
import type { Log } from '../api/log.js';
import { type KubeObject, keyOf, type Stored } from '../api/object.js';
import type { ResourceType } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { pause } from '../base/deadline.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from '../client/client.js';
import type { Informers } from '../client/informer.js';
import { runWorkers } from '../client/worker.js';
import { KeyQueue, type WorkQueue } from '../client/workQueue.js';

/** Time for the event that made the cache late to arrive. */
const CONFLICT_MS = 20;

export interface ControllerEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Tells an event about an object; never waits and never throws. */
export type RecordEvent = (type: ResourceType, about: Stored<KubeObject>, event: ControllerEvent) => void;

export interface ControllerContext {
  readonly client: Client;
  readonly informers: Informers;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly record: RecordEvent;
  /** How many keys are worked on at a time, where someone has said so. */
  readonly workers?: number | undefined;
  now(): number;
}

export interface Controller {
  /** Its name in kube-controller-manager, as `--controllers` takes it. */
  readonly name: string;
  /** Kinds without which it cannot work; it waits until the server serves them. */
  readonly needs?: readonly ResourceType[];
  /** Registers handlers and starts workers; resolves when the context's signal has ended them. */
  run(context: ControllerContext): Promise<void>;
}

interface Loop {
  readonly queue: WorkQueue;
  readonly workers?: number;
  /** Returns how long until the key should be looked at again, if time alone can change it. */
  reconcile(key: string): Promise<number | undefined>;
}

export function newQueue({ now }: ControllerContext): WorkQueue {
  return new KeyQueue({ now });
}

export async function runLoop(context: ControllerContext, name: string, loop: Loop): Promise<void> {
  const { informers, signal, log } = context;
  if (!(await cachesSynced(informers, signal))) return loop.queue.shutDown();
  await runWorkers({
    queue: loop.queue,
    concurrency: context.workers ?? loop.workers ?? 5,
    log: log.with({ controller: name }),
    signal,
    sync: async (key) => {
      // What was queued when the end came is left to the next leader: a queue may be long, an exit must not be.
      if (signal.aborted) return;
      const againMs = await reconcileQuietly(loop, key);
      if (againMs !== undefined) loop.queue.addAfter(key, againMs);
    },
  });
}

/** A conflict is how the server says that the cache is late: no failure, only "once more". */
async function reconcileQuietly(loop: Loop, key: string): Promise<number | undefined> {
  try {
    return await loop.reconcile(key);
  } catch (error) {
    if (ApiError.is(error, 'Conflict')) return CONFLICT_MS;
    throw error;
  }
}

/** Calls `tick` now and then every `periodMs` until the signal; a failing tick is logged and the next one comes. */
export async function runEvery(
  { informers, signal, log }: ControllerContext,
  { name, periodMs, tick }: { name: string; periodMs: number; tick: () => Promise<void> },
): Promise<void> {
  if (!(await cachesSynced(informers, signal))) return;
  while (!signal.aborted) {
    try {
      await tick();
    } catch (error) {
      log.warn('round failed, will try again', { controller: name, error: messageOf(error) });
    }
    await pause(periodMs, signal);
  }
}

/** One after the other; one that fails is logged and stops no other: the next round tries it again. */
export async function sweep<T extends KubeObject>(
  { log, signal }: Pick<ControllerContext, 'log' | 'signal'>,
  { name, items }: { readonly name: string; readonly items: readonly Stored<T>[] },
  work: (item: Stored<T>) => Promise<void>,
): Promise<void> {
  for (const item of items) {
    if (signal.aborted) return;
    try {
      await work(item);
    } catch (error) {
      const about = { item: keyOf(item.metadata), error: messageOf(error) };
      log.warn('could not be done, will try again', { controller: name, ...about });
    }
  }
}

/** False when the end comes first: then the caches may never be whole. */
async function cachesSynced(informers: Informers, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([informers.synced(), ended]);
  return !signal.aborted;
}
