// The newest changes, kept in memory: most watches that resume are only a little behind. Pure.
// Guarantees: bounded in number and bytes; holds every change after `since`.
import type { StoreEvent } from './store.js';

const EVENTS = 10_000;
const BYTES = 16 * 1024 * 1024;

export class Tail {
  private events: StoreEvent[] = [];
  private first = 0;
  private bytes = 0;

  /** Changes after this revision are all here. */
  constructor(private start: number) {}

  get since(): number {
    return this.start;
  }

  push(events: readonly StoreEvent[]): void {
    for (const event of events) {
      this.events.push(event);
      this.bytes += event.value.length;
    }
    while (this.events.length - this.first > EVENTS || this.bytes > BYTES) {
      const dropped = this.events[this.first++];
      if (dropped === undefined) break;
      this.start = dropped.revision;
      this.bytes -= dropped.value.length;
    }
    // Dropping from the front of an array moves all the rest: done for many at once.
    if (this.first > EVENTS) {
      this.events = this.events.slice(this.first);
      this.first = 0;
    }
  }

  after(revision: number): StoreEvent[] {
    // One change a revision, so the place is known without a search.
    const skip = Math.max(0, revision - this.start);
    return this.events.slice(this.first + skip);
  }
}
