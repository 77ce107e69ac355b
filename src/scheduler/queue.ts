// Pods waiting for a node: to be tried now, after a back-off, or when something changes that could help.
// Guarantees: higher priority first, then who came first; a pod is in one place at a time; none waits for ever; what happens
// while others are asked about a pod is looked at when they have answered.

import { backOffMs } from '../base/backOff.js';
import type { ClusterEvent, EventKind } from './events.js';
import { Heap } from './heap.js';

/** After this an unschedulable pod is tried again though nothing is known to have changed. */
const LEFT_OVER_MS = 5 * 60_000;

interface Entry {
  readonly key: string;
  readonly priority: number;
  /** Who came first among those of one priority. */
  readonly turn: number;
  place: 'active' | 'back-off' | 'unschedulable' | 'taken';
  attempts: number;
  readonly since: number;
  /** When its back-off is over. */
  dueAt: number;
  /** Since when it is unschedulable, and by which plugins. */
  refusedAt: number;
  rejectedBy: ReadonlySet<string>;
  wokenBy: readonly EventKind[];
  /** Its back-off is for a failure, not for want of a node: it is waited out. */
  failed: boolean;
  /** What happened since others were asked about it; undefined when nobody is. */
  heard: Heard | undefined;
}

/** Events while a pod is taken: by kind, and few of each; of more, any may be the one that helps. */
type Heard = Map<EventKind | 'itself', ClusterEvent[]>;
const HEARD_EACH = 16;

interface QueueOptions {
  now(): number;
  /** Events after which pods that these plugins rejected may be worth another look. */
  wokenBy(key: string, plugins: ReadonlySet<string>): readonly EventKind[];
  /** Whether this very event could help that pod. */
  helps(event: ClusterEvent, key: string, plugins: ReadonlySet<string>): boolean;
  readonly firstBackOffMs?: number;
  readonly longestBackOffMs?: number;
}

interface Waiting {
  readonly entry: Entry;
  readonly dueAt: number;
}

export class SchedulingQueue {
  readonly #options: QueueOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #unschedulable = new Set<Entry>();
  /** The unschedulable, by the events that may wake them. */
  readonly #sleepers = new Map<EventKind, Set<Entry>>();
  readonly #listening = new Set<Entry>();
  #turns = 0;
  readonly #active = new Heap<Entry>(
    (a, b) => a.priority > b.priority || (a.priority === b.priority && a.turn < b.turn),
  );
  readonly #backOff = new Heap<Waiting>((a, b) => a.dueAt < b.dueAt);
  readonly #failures = new Heap<Waiting>((a, b) => a.dueAt < b.dueAt);

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** How many pods wait in all. */
  get size(): number {
    return this.#entries.size;
  }

  /** A new pod, or one that changed so that it deserves a fresh start. Does nothing to one that is being worked on. */
  add({ key, priority }: { key: string; priority: number }): void {
    const taken = this.#entries.get(key);
    if (taken?.place === 'taken') {
      taken.heard?.set('itself', []);
      return;
    }
    this.remove(key);
    const entry: Entry = {
      key,
      priority,
      turn: this.#turns++,
      place: 'active',
      attempts: 0,
      since: this.#options.now(),
      dueAt: 0,
      refusedAt: 0,
      rejectedBy: new Set(),
      wokenBy: [],
      failed: false,
      heard: undefined,
    };
    this.#entries.set(key, entry);
    this.#active.push(entry);
  }

  /** Bound, deleted, or no longer ours. */
  remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#listening.delete(entry);
    this.#rouse(entry);
  }

  /** How often a pod was tried, and since when it has been here. */
  historyOf(key: string): { readonly attempts: number; readonly since: number } | undefined {
    return this.#entries.get(key);
  }

  /** How many pods are where. */
  sizes(): Readonly<Record<'active' | 'backoff' | 'unschedulable', number>> {
    const sizes = { active: 0, backoff: 0, unschedulable: this.#unschedulable.size };
    for (const { place } of this.#entries.values()) {
      if (place === 'active') sizes.active += 1;
      else if (place === 'back-off') sizes.backoff += 1;
    }
    return sizes;
  }

  /** How many of the unschedulable each plugin has rejected. */
  refusedBy(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { rejectedBy } of this.#unschedulable)
      for (const plugin of rejectedBy) counts.set(plugin, (counts.get(plugin) ?? 0) + 1);
    return counts;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /**
   * The next pod to try. It stays taken until it is removed, backed off or found unschedulable. With nothing else to do,
   * a pod that waits out a refusal is tried early: the wait is there to keep it out of the way of others.
   */
  take(): string | undefined {
    this.#moveDue();
    for (let entry = this.#active.pop(); entry !== undefined; entry = this.#active.pop())
      if (this.#isIn(entry, 'active')) return this.#taken(entry);
    for (let next = this.#backOff.pop(); next !== undefined; next = this.#backOff.pop())
      if (this.#isIn(next.entry, 'back-off') && next.entry.dueAt === next.dueAt)
        return this.#taken(next.entry);
    return undefined;
  }

  #taken(entry: Entry): string {
    entry.place = 'taken';
    entry.attempts += 1;
    return entry.key;
  }

  /** Others are asked about a pod that is taken: what happens until they have answered may change its fate. */
  listen(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.place !== 'taken') return;
    entry.heard ??= new Map();
    this.#listening.add(entry);
  }

  #hasHeardHelp({ key, rejectedBy, wokenBy }: Entry, heard: Heard | undefined): boolean {
    if (heard === undefined) return false;
    const { helps } = this.#options;
    return (
      heard.has('itself') ||
      wokenBy.some((kind) => {
        const events = heard.get(kind) ?? [];
        return events.length >= HEARD_EACH || events.some((event) => helps(event, key, rejectedBy));
      })
    );
  }

  #stopListening(entry: Entry): Heard | undefined {
    const { heard } = entry;
    entry.heard = undefined;
    this.#listening.delete(entry);
    return heard;
  }

  /** It failed for a reason that time may heal. */
  backOff(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.place !== 'taken') return;
    this.#stopListening(entry);
    entry.failed = true;
    this.#wait(entry, this.#options.now() + this.#delayAfter(entry.attempts));
  }

  /** No node takes it as things are. */
  unschedulable(key: string, rejectedBy: ReadonlySet<string>): void {
    const entry = this.#entries.get(key);
    if (entry?.place !== 'taken') return;
    entry.place = 'unschedulable';
    entry.failed = false;
    entry.refusedAt = this.#options.now();
    entry.rejectedBy = rejectedBy;
    entry.wokenBy = rejectedBy.size === 0 ? ['node added'] : this.#options.wokenBy(key, rejectedBy);
    this.#unschedulable.add(entry);
    for (const kind of entry.wokenBy) {
      const sleepers = this.#sleepers.get(kind) ?? new Set();
      this.#sleepers.set(kind, sleepers.add(entry));
    }
    if (this.#hasHeardHelp(entry, this.#stopListening(entry))) this.#return(entry);
  }

  /** Something changed: pods that it could help come back, not before their back-off is over. */
  wake(event: ClusterEvent): void {
    const { helps } = this.#options;
    for (const { heard } of this.#listening) {
      const events = heard?.get(event.kind) ?? [];
      if (events.length < HEARD_EACH) heard?.set(event.kind, [...events, event]);
    }
    for (const entry of this.#sleepers.get(event.kind) ?? [])
      if (entry.rejectedBy.size === 0 || helps(event, entry.key, entry.rejectedBy)) this.#return(entry);
  }

  /** Tries an unschedulable pod again at once. */
  activate(key: string): void {
    const entry = this.#entries.get(key);
    if (entry?.place !== 'unschedulable') return;
    this.#rouse(entry);
    this.#activate(entry);
  }

  #rouse(entry: Entry): void {
    if (!this.#unschedulable.delete(entry)) return;
    for (const kind of entry.wokenBy) this.#sleepers.get(kind)?.delete(entry);
  }

  /** Milliseconds until something will be ready to take by itself; undefined when only an event can help. */
  nextDueMs(): number | undefined {
    const now = this.#options.now();
    const due = this.#failures.peek()?.dueAt;
    const leftOver = this.#unschedulable.values().next().value?.refusedAt;
    const times = [due, leftOver === undefined ? undefined : leftOver + LEFT_OVER_MS].filter(
      (at) => at !== undefined,
    );
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - now);
  }

  /** Out of the unschedulable: what of its back-off has already passed while it waited there counts. */
  #return(entry: Entry): void {
    this.#rouse(entry);
    const dueAt = entry.refusedAt + this.#delayAfter(entry.attempts);
    if (dueAt > this.#options.now()) this.#wait(entry, dueAt);
    else this.#activate(entry);
  }

  #wait(entry: Entry, dueAt: number): void {
    entry.place = 'back-off';
    entry.dueAt = dueAt;
    (entry.failed ? this.#failures : this.#backOff).push({ entry, dueAt });
  }

  #activate(entry: Entry): void {
    entry.place = 'active';
    this.#active.push(entry);
  }

  #moveDue(): void {
    const now = this.#options.now();
    for (const heap of [this.#backOff, this.#failures])
      for (let next = heap.peek(); next !== undefined && next.dueAt <= now; next = heap.peek()) {
        heap.pop();
        if (this.#isIn(next.entry, 'back-off') && next.entry.dueAt === next.dueAt) this.#activate(next.entry);
      }
    // In the order they came in, so the first that is not due ends the search.
    for (const entry of this.#unschedulable) {
      if (entry.refusedAt + LEFT_OVER_MS > now) break;
      this.#rouse(entry);
      this.#activate(entry);
    }
  }

  /** Heaps keep what was removed until it comes up. */
  #isIn(entry: Entry, place: Entry['place']): boolean {
    return entry.place === place && this.#entries.get(entry.key) === entry;
  }

  #delayAfter(attempts: number): number {
    const { firstBackOffMs: firstMs = 1_000, longestBackOffMs: longestMs = 10_000 } = this.#options;
    return backOffMs(attempts - 1, { firstMs, longestMs });
  }
}
