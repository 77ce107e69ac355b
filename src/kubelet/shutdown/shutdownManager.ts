// Ends the node's pods in order when the machine is about to go down, and holds the machine back for so long.
// Guarantees: no group waits longer than its period; when logind goes away or comes late, it is asked again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import type { PodWorkers } from '../podWorkers.js';
import type { Pod } from '../ports.js';
import { openBus } from './bus.js';
import { allowDelay, type InhibitLock, inhibitShutdown, type LogindPlace, onShutdown } from './logind.js';
import { neededMs, type ShutdownPeriod, shutdownGroups } from './plan.js';

interface ShutdownOptions {
  readonly periods: readonly ShutdownPeriod[];
  readonly logind: LogindPlace;
  readonly workers: Pick<PodWorkers, 'terminate'>;
  /** Pods that have not ended. */
  readonly pods: () => readonly Pod[];
  /** Nothing of the pod is left on the node. */
  readonly isGone: (uid: string) => boolean;
  readonly tellNode: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
  /** The node is to show its new condition. */
  readonly changed: () => void;
  readonly log: Log;
}

const SHUTTING_DOWN = 'node is shutting down';
const MESSAGE = 'Pod was terminated in response to imminent node shutdown.';
const RECONNECT_MS = 1_000;
const LOOK_MS = 100;

export class ShutdownManager {
  readonly #options: ShutdownOptions;

  #isImminent = false;
  #lock: InhibitLock | undefined;
  readonly #stopping = new AbortController();
  /** One piece of news after the other. */
  #work = Promise.resolve();

  constructor(options: ShutdownOptions) {
    this.#options = options;
  }

  /** Undefined while the machine stays up. */
  problem(): string | undefined {
    return this.#isImminent ? SHUTTING_DOWN : undefined;
  }

  start(): void {
    if (this.#options.periods.length > 0) void this.#watch();
  }

  stop(): void {
    this.#stopping.abort();
    this.#release();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping;
    let told = '';
    while (!signal.aborted) {
      try {
        await this.#watchOnce();
        told = '';
      } catch (error) {
        // Where there is no logind this goes on for ever: said once.
        if (messageOf(error) !== told)
          this.#options.log.warn('shutdowns of this machine cannot be waited for', {
            error: messageOf(error),
          });
        told = messageOf(error);
      }
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => {}); // stopped
    }
  }

  /** Answers when the connection has ended. */
  async #watchOnce(): Promise<void> {
    const { logind, periods } = this.#options;
    const bus = await openBus(logind.bus);
    const close = () => bus.close();
    this.#stopping.signal.addEventListener('abort', close, { once: true });
    try {
      await allowDelay(bus, neededMs(periods), logind.configDir);
      await onShutdown(bus, (isImminent) => {
        this.#work = this.#work.then(() => this.#take(isImminent));
      });
      await this.#hold();
      this.#options.log.info('shutdowns of this machine wait for its pods', { ms: neededMs(periods) });
      await bus.closed;
    } finally {
      this.#stopping.signal.removeEventListener('abort', close);
      bus.close();
    }
  }

  async #take(isImminent: boolean): Promise<void> {
    const { log, tellNode, changed } = this.#options;
    const what = isImminent ? 'event' : 'cancellation';
    log.info(isImminent ? 'the machine goes down' : 'the machine stays up');
    tellNode('Normal', 'NodeShutdown', `Shutdown manager detected shutdown ${what}`);
    this.#isImminent = isImminent;
    changed();
    try {
      if (isImminent) await this.#endPods();
      else await this.#hold();
    } catch (error) {
      log.error('cannot follow the shutdown of this machine', { error: messageOf(error) });
    } finally {
      if (isImminent) this.#release();
    }
  }

  async #endPods(): Promise<void> {
    const { periods, pods, workers, isGone, log } = this.#options;
    for (const { graceSeconds, pods: group } of shutdownGroups(periods, pods())) {
      for (const { metadata, spec } of group)
        workers.terminate(metadata.uid, {
          graceSeconds: Math.min(graceSeconds, spec.terminationGracePeriodSeconds ?? 30),
          failure: { reason: 'Terminated', message: MESSAGE, isDisruption: true },
        });
      const deadline = Date.now() + graceSeconds * 1000;
      const isOver = () => group.every(({ metadata }) => isGone(metadata.uid));
      while (!isOver() && Date.now() < deadline && !this.#stopping.signal.aborted) await sleep(LOOK_MS);
      if (!isOver()) log.warn('pods did not end in their time before the shutdown', { graceSeconds });
    }
  }

  /** One that was held before is let go only when the new one is there. */
  async #hold(): Promise<void> {
    const lock = await inhibitShutdown(this.#options.logind.bus);
    this.#release();
    this.#lock = lock;
    if (this.#stopping.signal.aborted) this.#release();
  }

  #release(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }
}
