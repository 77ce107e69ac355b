// Forgets old history in small steps, so that the file stays bounded and no write waits long.
// Guarantees: a revision counts as compacted before the first of its records goes; the newest record always stays; what
// dead readers held is free again after the next trim.

import type { StoreEvent } from '../store.js';
import { commit } from './commit.js';
import { putCompacted, readCompacted, type Tables } from './database.js';
import { encodeRevision } from './format.js';
import { Snapshot } from './snapshot.js';
import type { Writer } from './writer.js';

export interface HistoryLimits {
  readonly historyMs: number;
  readonly historyEvents: number;
  readonly historyBytes: number;
  readonly now: () => number;
}

const STEP = 500;
/** A value that does not fit beside others has pages of its own. */
const PAGE = 4096;
const SHARED = PAGE / 2;

interface TableStats {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

export class Compaction {
  readonly #tables: Tables;
  readonly #writer: Writer;
  readonly #limits: HistoryLimits;

  /** History up to and including this revision is forgotten. */
  compacted: number;
  /** The first revision whose records are still in the file. */
  #oldest: number;
  /** Written since history was last looked through. */
  #grownBytes = 0;

  constructor(tables: Tables, writer: Writer, limits: HistoryLimits) {
    this.#tables = tables;
    this.#writer = writer;
    this.#limits = limits;

    const snapshot = new Snapshot(tables);
    this.compacted = readCompacted(tables);
    this.#oldest = snapshot.oldest();
    snapshot.close();
  }

  /** Told of every commit; true when history may be over its limits by a tenth. */
  grew(events: readonly StoreEvent[]): boolean {
    for (const { key, previous } of events) this.#grownBytes += sizeOf(key, previous?.value.length ?? 0);
    const { historyEvents, historyBytes } = this.#limits;
    const count = this.#writer.committed - this.compacted;
    return count > historyEvents * 1.1 + 1000 || this.#grownBytes > historyBytes / 10;
  }

  /** What history takes of the file. */
  bytes(): number {
    return [this.#tables.log, this.#tables.undo]
      .map((table) => table.getStats() as TableStats)
      .map((stats) => {
        const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = stats;
        return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
      })
      .reduce((sum, bytes) => sum + bytes, 0);
  }

  /** Forgets what is over the limits of age, number and bytes. */
  async trim(): Promise<void> {
    this.#grownBytes = 0;
    // A reader that was killed keeps its slot, and with it every page that was freed since.
    this.#tables.root.readerCheck();
    const target = this.#target();
    if (target > this.compacted) await this.to(target);
  }

  async to(revision: number): Promise<void> {
    this.compacted = Math.max(this.compacted, revision);
    // Its key is how the newest revision is known after a restart.
    const last = Math.min(this.compacted, this.#writer.committed - 1);
    do {
      await this.#writer.between(() => this.#step(last));
    } while (this.#oldest <= last);
  }

  #target(): number {
    const { historyMs, historyEvents, historyBytes, now } = this.#limits;
    const byNumber = this.#writer.committed - historyEvents;
    const snapshot = new Snapshot(this.#tables);
    try {
      let target = Math.max(this.compacted, byNumber);
      let excess = this.bytes() - historyBytes;
      // What is forgotten already or about to be counts as well until its records are gone.
      for (const change of snapshot.changes(this.#oldest - 1)) {
        const isOld = change.revision <= target || change.timeMs <= now() - historyMs;
        if (!isOld && excess <= 0) break;
        if (excess > 0) excess -= sizeOf(change.key, snapshot.replacedBytes(change));
        target = Math.max(target, change.revision);
      }
      return target;
    } finally {
      snapshot.close();
    }
  }

  async #step(last: number): Promise<void> {
    const { log, undo } = this.#tables;
    const first = this.#oldest;
    const end = Math.min(last, first + STEP - 1);
    await commit(this.#tables, () => {
      putCompacted(this.#tables, this.compacted);
      for (let revision = Math.max(first, 1); revision <= end; revision++) {
        const id = encodeRevision(revision);
        log.remove(id);
        undo.remove(id);
      }
    });
    this.#oldest = Math.max(first, end + 1);
  }
}

/** About what a change takes of the file's history. */
function sizeOf(key: string, replacedBytes: number): number {
  const pages = replacedBytes > SHARED ? Math.ceil(replacedBytes / PAGE) * PAGE : replacedBytes;
  return key.length + pages + 64;
}
