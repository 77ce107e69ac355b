// How fast one owner may make pods: so many a minute, and slower while those that it made fail.
// Guarantees: within any minute an owner makes at most MADE.base + MADE.each * (pods it wishes for), whatever a user or a fault
// does; memory is freed for owners that are forgotten, and of failures after a quiet time.
import { backOffMs } from '../base/backOff.js';

/** Far above what any rollout, scaling or batch of work needs; far below what a loop makes. */
export const MADE = { windowMs: 60_000, base: 200, each: 3 } as const;
/** Rounds of failures, a round being as many as the owner wishes pods, that are replaced at once; then each next one waits. */
export const FAILED = { free: 5, firstMs: 1_000, longestMs: 60_000, forgottenMs: 600_000 } as const;

/** How often the reason is told at most. */
const TOLD_MS = 30_000;

interface Admission {
  readonly count: number;
  /** When to ask again, if fewer than asked for may be made. */
  readonly againMs?: number;
  /** In words, from time to time. */
  readonly because?: string;
}

interface Owner {
  /** How many were made in each second, oldest first. */
  made: { readonly second: number; count: number }[];
  failures: number;
  failedAt: number;
  toldAt: number;
}

export interface PaceOptions {
  /** Whether failed pods slow the next ones down; not for owners whose plan does that already. */
  readonly failuresCount: boolean;
}

export class Pace {
  readonly #owners = new Map<string, Owner>();
  readonly #options: PaceOptions;

  constructor(options: PaceOptions = { failuresCount: true }) {
    this.#options = options;
  }

  /** How many of the pods may be made now; those are counted as made. */
  admit(uid: string, wanted: number, wished: number, now: number): Admission {
    const owner = this.#of(uid);
    const waitMs = this.#failureMs(owner, wished, now);
    if (waitMs > 0) {
      const because = `${owner.failures} of its pods failed: the next one is made in ${Math.ceil(waitMs / 1000)} s`;
      return { count: 0, againMs: waitMs, ...this.#tell(owner, because, now) };
    }
    owner.made = owner.made.filter(({ second }) => (second + 1) * 1000 > now - MADE.windowMs);
    const limit = MADE.base + MADE.each * wished;
    const before = owner.made.reduce((sum, { count }) => sum + count, 0);
    const count = Math.min(wanted, Math.max(0, limit - before));
    this.#count(owner, count, now);
    if (count === wanted) return { count };
    const oldest = owner.made[0]?.second ?? Math.floor(now / 1000);
    const againMs = Math.max(1_000, (oldest + 1) * 1000 + MADE.windowMs - now);
    const because = `it has made ${before + count} pods within a minute, which is its limit`;
    return { count, againMs, ...this.#tell(owner, because, now) };
  }

  /** Takes back what was admitted and not made after all. */
  notMade(uid: string, count: number): void {
    const last = this.#of(uid).made.at(-1);
    if (last !== undefined) last.count = Math.max(0, last.count - count);
  }

  failed(uid: string, now: number): void {
    if (!this.#options.failuresCount) return;
    const owner = this.#of(uid);
    owner.failures = (now - owner.failedAt > FAILED.forgottenMs ? 0 : owner.failures) + 1;
    owner.failedAt = now;
  }

  forget(uid: string): void {
    this.#owners.delete(uid);
  }

  #of(uid: string): Owner {
    const owner = this.#owners.get(uid) ?? { made: [], failures: 0, failedAt: 0, toldAt: 0 };
    this.#owners.set(uid, owner);
    return owner;
  }

  #tell(owner: Owner, because: string, now: number): Pick<Admission, 'because'> {
    if (now - owner.toldAt < TOLD_MS) return {};
    owner.toldAt = now;
    return { because };
  }

  #count(owner: Owner, count: number, now: number): void {
    if (count === 0) return;
    const second = Math.floor(now / 1000);
    const last = owner.made.at(-1);
    if (last?.second === second) last.count += count;
    else owner.made.push({ second, count });
  }

  #failureMs({ failures, failedAt }: Owner, wished: number, now: number): number {
    if (now - failedAt > FAILED.forgottenMs) return 0;
    const rounds = Math.floor(failures / Math.max(1, wished)) - FAILED.free;
    if (rounds <= 0) return 0;
    const delayMs = backOffMs(rounds - 1, FAILED);
    return Math.max(0, failedAt + delayMs - now);
  }
}
