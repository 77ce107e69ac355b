// Service ports that the mode could not program: what is told of them, and when they are tried again. Pure.
// Guarantees: the same reason is told once; ports are tried again ever more seldom, and at once when they change.
import { messageOf } from '../base/errorMessage.js';

const RETRY_MS = { first: 30_000, most: 600_000 };

interface Refusals {
  /** Ports that are left out now. */
  readonly size: number;
  /** After a sync of these keys (all, when undefined) that left out `failed`; answers those to be told of, with the reason. */
  after(failed: ReadonlyMap<string, unknown>, synced: ReadonlySet<string> | undefined): Map<string, string>;
  /** Those to try again now; their next time is later. */
  due(now: number): string[];
}

export function makeRefusals(): Refusals {
  const refused = new Map<string, string>();
  let [waitMs, nextAt] = [RETRY_MS.first, 0];
  return {
    get size() {
      return refused.size;
    },
    after(failed, synced) {
      for (const key of [...refused.keys()])
        if (!failed.has(key) && (synced === undefined || synced.has(key))) refused.delete(key);
      const news = new Map<string, string>();
      for (const [key, error] of failed) {
        const why = messageOf(error);
        if (refused.get(key) !== why) news.set(key, why);
        refused.set(key, why);
      }
      if (refused.size === 0) [waitMs, nextAt] = [RETRY_MS.first, 0];
      return news;
    },
    due(now) {
      if (refused.size === 0) return [];
      if (nextAt === 0) nextAt = now + waitMs;
      if (now < nextAt) return [];
      waitMs = Math.min(waitMs * 2, RETRY_MS.most);
      nextAt = now + waitMs;
      return [...refused.keys()];
    },
  };
}
