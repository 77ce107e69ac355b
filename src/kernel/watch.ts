// Watches on the kernel's events, kept by the port that opened them.
// Guarantees: nothing is delivered after close; closing the port closes what it still watches.
import type { AddonMonitor } from './addon.js';
import { KernelError } from './error.js';

export interface Watch {
  /** Idempotent; no event is delivered after it. */
  close(): void;
}

export class Watches {
  readonly #open = new Set<Watch>();

  /** `monitor` starts the addon's side; `onEvents` gets what it delivers, in order. */
  start<Event>(
    monitor: (onBytes: (bytes: Buffer) => void) => AddonMonitor,
    onEvents: (events: readonly Event[]) => void,
  ): Watch {
    let source: AddonMonitor;
    const watch = {
      close: () => {
        if (this.#open.delete(watch)) source.close();
      },
    };
    try {
      source = monitor((bytes) => {
        if (this.#open.has(watch)) onEvents(JSON.parse(bytes.toString()) as Event[]);
      });
    } catch (error) {
      throw KernelError.from(error);
    }
    this.#open.add(watch);
    return watch;
  }

  close(): void {
    for (const watch of [...this.#open]) watch.close();
  }
}
