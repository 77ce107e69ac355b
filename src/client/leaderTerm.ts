// The time for which a process leads, and a transport that carries nothing once that is over.
// Guarantees: held only as long as the last renewal lasts by our own clock, also when the process slept meanwhile; from the
// moment it is lost no request leaves through a fenced transport, and those under way are cut off.
import { setMaxListeners } from 'node:events';
import { ClientError } from './error.js';
import type { Transport } from './transport.js';

interface TermOptions {
  /** When the request that took the lease began. */
  readonly since: number;
  readonly lastsMs: number;
  readonly now: () => number;
  /** The resourceVersion of the lease as this process wrote it last. */
  readonly leaseVersion: () => string;
}

export class LeaderTerm {
  readonly #options: TermOptions;

  readonly #stop = new AbortController();
  readonly #lost = new AbortController();
  #renewedAt: number;

  constructor(options: TermOptions) {
    this.#options = options;

    this.#renewedAt = options.since;
    for (const { signal } of [this.#stop, this.#lost]) setMaxListeners(0, signal);
  }

  /** Aborted when the work is to end: the lease was lost, or is about to be given back. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get leaseVersion(): string {
    return this.#options.leaseVersion();
  }

  get isLost(): boolean {
    return this.#lost.signal.aborted;
  }

  get isHeld(): boolean {
    return !this.isLost && this.leftMs > 0;
  }

  /** Until it is over, unless it is renewed. */
  get leftMs(): number {
    const { now, lastsMs } = this.#options;
    return this.#renewedAt + lastsMs - now();
  }

  /** `startedAt`: before the request, which is the earliest moment at which others can have seen it. */
  renewed(startedAt: number): void {
    this.#renewedAt = startedAt;
  }

  /** The work is to end, and may still write what it has begun. */
  resign(): void {
    this.#stop.abort();
  }

  lose(): void {
    this.#lost.abort();
    this.#stop.abort();
  }

  /** What carries the requests of the work; it closes the transport. */
  fence(transport: Transport): Transport {
    const close = () => transport.close();
    const { signal } = this.#lost;
    if (signal.aborted) close();
    else signal.addEventListener('abort', close, { once: true });
    const isHeld = () => this.isHeld;
    return {
      request: async (request) => {
        if (!this.isHeld) throw new ClientError('CLOSED', 'the lease was lost: nothing more is sent');
        return transport.request({ ...request, isAllowed: isHeld });
      },
      close: () => {
        signal.removeEventListener('abort', close);
        close();
      },
    };
  }
}
