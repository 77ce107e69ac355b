// Limits of concurrent and waiting calls per webhook and user; requests beyond them get 429.
// Guarantees: a webhook that is slow holds few requests at a time, whoever sends them; one user never holds all of its
// calls.
import { statusError } from '../../../api/status.js';

interface RoomLimits {
  /** Calls at once, and those of one user. */
  readonly calls: number;
  readonly callsOfUser: number;
  /** Who may wait for a call while they are answered quickly, and while they are not. */
  readonly waiting: number;
  readonly waitingWhenSlow: number;
  /** A call that takes so long is slow. */
  readonly slowMs: number;
  /** Who has not begun by then has to come again. */
  readonly patienceMs: number;
}

const LIMITS: RoomLimits = {
  calls: 32,
  callsOfUser: 16,
  waiting: 1000,
  waitingWhenSlow: 16,
  slowMs: 2000,
  patienceMs: 5000,
};

interface Waiter {
  readonly user: string;
  begin(): void;
}

export class ConversionCallLimits {
  readonly #name: string;
  readonly #now: () => number;

  readonly #limits: RoomLimits;
  /** Of each call, when it began. The oldest comes first. */
  readonly #running = new Map<symbol, number>();
  readonly #byUser = new Map<string, number>();
  #waiting: Waiter[] = [];

  constructor(name: string, limits: Partial<RoomLimits> = {}, now: () => number = () => performance.now()) {
    this.#name = name;
    this.#now = now;

    this.#limits = { ...LIMITS, ...limits };
  }

  /** Runs the call when there is room. Throws TooManyRequests. */
  async run<T>(user: string, call: () => Promise<T>): Promise<T> {
    const leave = this.#hasRoom(user) ? this.#enter(user) : await this.#wait(user);
    try {
      return await call();
    } finally {
      leave();
    }
  }

  #enter(user: string): () => void {
    const mark = Symbol(user);
    this.#running.set(mark, this.#now());
    this.#count(user, 1);
    return () => {
      this.#running.delete(mark);
      this.#count(user, -1);
      this.#next();
    };
  }

  #hasRoom(user: string): boolean {
    const { calls, callsOfUser } = this.#limits;
    return this.#running.size < calls && (this.#byUser.get(user) ?? 0) < callsOfUser;
  }

  #wait(user: string): Promise<() => void> {
    const { waiting, waitingWhenSlow, slowMs, patienceMs } = this.#limits;
    const [oldest] = this.#running.values();
    const isSlow = oldest !== undefined && this.#now() - oldest >= slowMs;
    if (this.#waiting.length >= (isSlow ? waitingWhenSlow : waiting)) throw this.#tooMany();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        user,
        begin: () => {
          clearTimeout(late);
          resolve(this.#enter(user));
        },
      };
      const late = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(this.#tooMany());
      }, patienceMs);
      this.#waiting.push(waiter);
    });
  }

  /** The first of those whose user may call. */
  #next(): void {
    const at = this.#waiting.findIndex(({ user }) => this.#hasRoom(user));
    if (at === -1) return;
    const [waiter] = this.#waiting.splice(at, 1);
    waiter?.begin();
  }

  #count(user: string, by: number): void {
    const calls = (this.#byUser.get(user) ?? 0) + by;
    if (calls > 0) this.#byUser.set(user, calls);
    else this.#byUser.delete(user);
  }

  #tooMany() {
    return statusError(
      'TooManyRequests',
      `too many requests wait for the conversion webhook of ${this.#name}, please try again later`,
      { retryAfterSeconds: 1 },
    );
  }
}
