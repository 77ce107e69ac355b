// Room for the bodies of requests under way: what finds none waits unread in its socket.
// Guarantees: the bodies of one user, and of all, that are in memory never sum up to more than their rooms; first come, first
// served among those of one user.
import { Tally } from '../../base/tally.js';

interface BodyRoomOptions {
  readonly userBytes: number;
  readonly allBytes: number;
}

const DEFAULTS: BodyRoomOptions = { userBytes: 12 * 1024 * 1024, allBytes: 64 * 1024 * 1024 };

interface Waiting {
  readonly user: string;
  readonly bytes: number;
  enter(): void;
}

export class BodyRoom {
  readonly #options: BodyRoomOptions;
  readonly #held = new Tally();
  #waiting: Waiting[] = [];

  constructor(options: Partial<BodyRoomOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
  }

  /** Bytes that are held for bodies now. */
  get taken(): number {
    return this.#held.all;
  }

  /** Resolves to how the room is given back. Gives up, with nothing taken, when the signal says that the client has gone. */
  take(user: string, bytes: number, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const gone = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        reject(signal.reason);
      };
      const enter = () => {
        signal.removeEventListener('abort', gone);
        resolve(this.#hold(user, bytes));
      };
      const waiting: Waiting = { user, bytes, enter };
      if (signal.aborted) return gone();
      signal.addEventListener('abort', gone, { once: true });
      this.#waiting.push(waiting);
      this.#admit();
    });
  }

  #hold(user: string, bytes: number): () => void {
    const giveBack = this.#held.take(user, bytes);
    return () => {
      giveBack();
      this.#admit();
    };
  }

  #admit(): void {
    const full = new Set<string>();
    const still: Waiting[] = [];
    for (const waiting of this.#waiting) {
      const own = this.#held.of(waiting.user);
      // One that is larger than the room itself gets in when nobody else is there.
      const fits =
        (own === 0 || own + waiting.bytes <= this.#options.userBytes) &&
        (this.#held.all === 0 || this.#held.all + waiting.bytes <= this.#options.allBytes);
      if (fits && !full.has(waiting.user)) waiting.enter();
      else {
        full.add(waiting.user);
        still.push(waiting);
      }
    }
    this.#waiting = still;
  }
}
