// The periodic tasks of a node: eviction under pressure, image and log clean-up, the kernel's OOM kills.
// Guarantees: none waits for another; a round that fails is logged and tried again in its turn.
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import type { RuntimeService } from '../cri/runtime.js';
import type { KubeletConfig } from './config.js';
import type { EvictionManager } from './eviction/evictionManager.js';
import { IMAGE_GC_PERIOD_MS, type ImageGC } from './imageGC.js';
import { LogRotator } from './logs/logRotator.js';
import { OomWatcher } from './node/oomWatcher.js';
import type { PodCache } from './runtime/podCache.js';
import { runningContainers } from './runtime/runtimePod.js';

interface PeriodicTasksOptions {
  readonly config: KubeletConfig;
  readonly runtime: RuntimeService;
  readonly cache: PodCache;
  readonly imageGC: ImageGC;
  readonly eviction: EvictionManager;
  readonly log: Log;
  readonly now: () => number;
  readonly tellNode: (type: 'Normal' | 'Warning', reason: string, message: string) => void;
  /** Drops what is kept of pods that are gone. */
  readonly forget: () => void;
}

export class PeriodicTasks {
  readonly #options: PeriodicTasksOptions;

  readonly #logs: LogRotator;
  readonly #oom: OomWatcher;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PeriodicTasksOptions) {
    this.#options = options;

    const { config, runtime, cache, log, now, tellNode } = options;
    this.#logs = new LogRotator({
      config,
      runtime,
      log,
      now,
      running: () => cache.pods().flatMap(runningContainers),
    });
    this.#oom = new OomWatcher({
      log,
      killed: ({ group, process, pid }) => {
        // One of a container shows in that container's state; the system's concerns the node.
        if (group !== '/') return;
        tellNode('Warning', 'SystemOOM', `System OOM encountered, victim process: ${process}, pid: ${pid}`);
      },
    });
  }

  start(): void {
    const { eviction, imageGC, forget, log } = this.#options;
    eviction.start();
    this.#logs.start();
    void this.#oom.start();
    this.#timer = setInterval(() => {
      forget();
      imageGC
        .round()
        .catch((error: unknown) => log.warn('cannot remove images', { error: messageOf(error) }));
    }, IMAGE_GC_PERIOD_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#options.eviction.stop();
    this.#logs.stop();
    await this.#oom.stop();
  }
}
