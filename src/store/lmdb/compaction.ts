// Forgets old history in small steps, so that the file stays bounded and no write waits long.
// Guarantees: a revision counts as compacted before the first of its records goes; the newest record always stays.
import { commit } from './commit.js';
import { putCompacted, readCompacted, type Tables } from './database.js';
import { encodeRevision } from './format.js';
import { Snapshot } from './snapshot.js';
import type { Writer } from './writer.js';

export interface HistoryLimits {
  readonly historyMs: number;
  readonly historyEvents: number;
  readonly now: () => number;
}

const STEP = 500;

export class Compaction {
  /** History up to and including this revision is forgotten. */
  compacted: number;
  /** The first revision whose records are still in the file. */
  private oldest: number;

  constructor(
    private readonly tables: Tables,
    private readonly writer: Writer,
    private readonly limits: HistoryLimits,
  ) {
    const snapshot = new Snapshot(tables);
    this.compacted = readCompacted(tables);
    this.oldest = snapshot.oldest();
    snapshot.close();
  }

  /** Forgets what is over the limits of age and number. */
  async trim(): Promise<void> {
    const target = this.target();
    if (target > this.compacted) await this.to(target);
  }

  async to(revision: number): Promise<void> {
    this.compacted = Math.max(this.compacted, revision);
    // Its key is how the newest revision is known after a restart.
    const last = Math.min(this.compacted, this.writer.committed - 1);
    do {
      await this.writer.between(() => this.step(last));
    } while (this.oldest <= last);
  }

  private target(): number {
    const { historyMs, historyEvents, now } = this.limits;
    const byNumber = this.writer.committed - historyEvents;
    const snapshot = new Snapshot(this.tables);
    try {
      let byAge = this.compacted;
      for (const { revision, timeMs } of snapshot.changes(Math.max(this.compacted, byNumber))) {
        if (timeMs > now() - historyMs) break;
        byAge = revision;
      }
      return Math.max(byNumber, byAge);
    } finally {
      snapshot.close();
    }
  }

  private async step(last: number): Promise<void> {
    const { log, undo } = this.tables;
    const first = this.oldest;
    const end = Math.min(last, first + STEP - 1);
    await commit(this.tables, () => {
      putCompacted(this.tables, this.compacted);
      for (let revision = Math.max(first, 1); revision <= end; revision++) {
        const id = encodeRevision(revision);
        log.remove(id);
        undo.remove(id);
      }
    });
    this.oldest = Math.max(first, end + 1);
  }
}
