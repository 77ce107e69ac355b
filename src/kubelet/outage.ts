// Logs a repeated failure: at once, then ever more rarely, and when it is over.
// Guarantees: what fails each second for an hour gives a dozen lines, not 3,600; each tells since when.
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';

const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

interface OutageOptions {
  /** What is said while it fails, and when it no longer does. */
  readonly failing: string;
  readonly over: string;
  readonly log: Log;
  readonly now: () => number;
}

export class Outage {
  readonly #options: OutageOptions;

  #since: number | undefined;
  #nextAt = 0;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(options: OutageOptions) {
    this.#options = options;
  }

  failed(error: unknown): void {
    const { failing, log, now } = this.#options;
    const at = now();
    if (this.#since === undefined) {
      this.#since = at;
      this.#pauseMs = FIRST_PAUSE_MS;
      log.warn(failing, { error: messageOf(error) });
    } else if (at >= this.#nextAt) {
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
      log.warn(`still: ${failing}`, { error: messageOf(error), forSeconds: this.#seconds(at) });
    } else return;
    this.#nextAt = at + this.#pauseMs;
  }

  ended(): void {
    if (this.#since === undefined) return;
    const { over, log, now } = this.#options;
    log.info(over, { afterSeconds: this.#seconds(now()) });
    this.#since = undefined;
  }

  #seconds(at: number): number {
    return Math.round((at - (this.#since ?? at)) / 1000);
  }
}
