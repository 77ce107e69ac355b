// Pods waiting for a node: to be tried now, after a back-off, or when something changes that could help.
// Guarantees: higher priority first, then who came first; a pod is in one place at a time; none waits for ever.
import { Heap } from './heap.js';
import type { ClusterEvent } from './plugin.js';

const FIRST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 10_000;
/** After this an unschedulable pod is tried again though nothing is known to have changed. */
const LEFT_OVER_MS = 5 * 60_000;

interface Entry {
  readonly key: string;
  readonly priority: number;
  /** Who came first among those of one priority. */
  readonly turn: number;
  place: 'active' | 'back-off' | 'unschedulable' | 'taken';
  attempts: number;
  /** When its back-off is over. */
  dueAt: number;
  /** Since when it is unschedulable, and by which plugins. */
  refusedAt: number;
  rejectedBy: ReadonlySet<string>;
}

export interface QueueOptions {
  now(): number;
  /** Events after which pods that this plugin rejected are worth another look. */
  wokenBy(plugin: string): readonly ClusterEvent[];
}

export class SchedulingQueue {
  readonly #options: QueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #unschedulable = new Set<Entry>();
  #turns = 0;
  readonly #active = new Heap<Entry>(
    (a, b) => a.priority > b.priority || (a.priority === b.priority && a.turn < b.turn),
  );
  readonly #backOff = new Heap<{ readonly entry: Entry; readonly dueAt: number }>(
    (a, b) => a.dueAt < b.dueAt,
  );

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** How many pods wait in all. */
  get size(): number {
    return this.#entries.size;
  }

  /** A new pod, or one that changed so that it deserves a fresh start. Does nothing to one that is being worked on. */
  add({ key, priority }: { key: string; priority: number }): void {
    if (this.#entries.get(key)?.place === 'taken') return;
    this.remove(key);
    const entry: Entry = {
      key,
      priority,
      turn: this.#turns++,
      place: 'active',
      attempts: 0,
      dueAt: 0,
      refusedAt: 0,
      rejectedBy: new Set(),
    };
    this.#entries.set(key, entry);
    this.#active.push(entry);
  }

  /** Bound, deleted, or no longer ours. */
  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#unschedulable.delete(entry);
  }

  /** The next pod to try. It stays taken until it is removed, backed off or found unschedulable. */
  take(): string | undefined {
    this.#moveDue();
    for (let entry = this.#active.pop(); entry !== undefined; entry = this.#active.pop()) {
      if (!this.#isIn(entry, 'active')) continue;
      entry.place = 'taken';
      entry.attempts += 1;
      return entry.key;
    }
    return undefined;
  }

  /** It failed for a reason that time may heal. */
  backOff(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.place === 'taken') this.#wait(entry);
  }

  /** No node takes it as things are. */
  unschedulable(key: string, rejectedBy: ReadonlySet<string>): void {
    const entry = this.#entries.get(key);
    if (entry?.place !== 'taken') return;
    entry.place = 'unschedulable';
    entry.refusedAt = this.#options.now();
    entry.rejectedBy = rejectedBy;
    this.#unschedulable.add(entry);
  }

  /** Something changed: pods that it could help come back, not before their back-off is over. */
  wake(event: ClusterEvent): void {
    for (const entry of this.#unschedulable) if (this.#helps(event, entry)) this.#return(entry);
  }

  /** Milliseconds until something will be ready to take by itself; undefined when only an event can help. */
  nextDueMs(): number | undefined {
    const now = this.#options.now();
    const due = this.#backOff.peek()?.dueAt;
    const leftOver = this.#unschedulable.values().next().value?.refusedAt;
    const times = [due, leftOver === undefined ? undefined : leftOver + LEFT_OVER_MS].filter(
      (at) => at !== undefined,
    );
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - now);
  }

  #helps(event: ClusterEvent, { rejectedBy }: Entry): boolean {
    if (event === 'node added') return true;
    return [...rejectedBy].some((plugin) => this.#options.wokenBy(plugin).includes(event));
  }

  /** Out of the unschedulable: what of its back-off has already passed while it waited there counts. */
  #return(entry: Entry): void {
    this.#unschedulable.delete(entry);
    const dueAt = entry.refusedAt + delayAfter(entry.attempts);
    if (dueAt > this.#options.now()) this.#wait(entry, dueAt);
    else this.#activate(entry);
  }

  #wait(entry: Entry, dueAt = this.#options.now() + delayAfter(entry.attempts)): void {
    entry.place = 'back-off';
    entry.dueAt = dueAt;
    this.#backOff.push({ entry, dueAt });
  }

  #activate(entry: Entry): void {
    entry.place = 'active';
    this.#active.push(entry);
  }

  #moveDue(): void {
    const now = this.#options.now();
    for (
      let next = this.#backOff.peek();
      next !== undefined && next.dueAt <= now;
      next = this.#backOff.peek()
    ) {
      this.#backOff.pop();
      if (this.#isIn(next.entry, 'back-off') && next.entry.dueAt === next.dueAt) this.#activate(next.entry);
    }
    // In the order they came in, so the first that is not due ends the search.
    for (const entry of this.#unschedulable) {
      if (entry.refusedAt + LEFT_OVER_MS > now) break;
      this.#unschedulable.delete(entry);
      this.#activate(entry);
    }
  }

  /** Heaps keep what was removed until it comes up. */
  #isIn(entry: Entry, place: Entry['place']): boolean {
    return entry.place === place && this.#entries.get(entry.key) === entry;
  }
}

function delayAfter(attempts: number): number {
  return Math.min(FIRST_BACK_OFF_MS * 2 ** (attempts - 1), LONGEST_BACK_OFF_MS);
}
