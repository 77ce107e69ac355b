// Which events are written, counted or dropped: the same again is counted, many alike are combined, a flood is cut. Pure.
// Guarantees: what it remembers is bounded; the numbers are those of Kubernetes' own recorders.
import type { CoreV1Event } from '../api/gen/types.js';

/** Events of one object that are let through at once, and the time after which one more is. */
const BURST = 25;
const REFILL_MS = 300_000;
/** Beyond this many different messages in ten minutes, events alike but for their message become one. */
const ALIKE_LIMIT = 10;
const ALIKE_WINDOW_MS = 600_000;
const REMEMBERED = 4096;

export type Verdict =
  | { readonly action: 'drop' }
  | { readonly action: 'create'; readonly key: string; readonly message: string }
  /** The `count`-th time; `name` is the event's that was written before. */
  | {
      readonly action: 'count';
      readonly key: string;
      readonly message: string;
      readonly count: number;
      readonly name: string;
    };

export class EventCorrelation {
  readonly #buckets = new Map<string, { tokens: number; at: number }>();
  readonly #alike = new Map<string, { messages: Set<string>; since: number }>();
  readonly #written = new Map<string, { name: string; count: number }>();

  judge(event: CoreV1Event, now: number): Verdict {
    const { involvedObject: about, source, type, reason, message = '' } = event;
    const object = JSON.stringify([
      source,
      about.kind,
      about.namespace,
      about.name,
      about.uid,
      about.fieldPath,
    ]);
    if (!this.#admits(object, now)) return { action: 'drop' };
    const group = JSON.stringify([object, type, reason]);
    const combined = this.#isCombined(group, message, now);
    const text = combined ? `(combined from similar events): ${message}` : message;
    const key = combined ? group : JSON.stringify([group, message]);
    const before = this.#written.get(key);
    if (before === undefined) return { action: 'create', key, message: text };
    before.count += 1;
    remember(this.#written, key, before);
    return { action: 'count', key, message: text, count: before.count, name: before.name };
  }

  /** Tells that the event of a verdict exists on the server now. */
  wrote(key: string, name: string): void {
    remember(this.#written, key, { name, count: this.#written.get(key)?.count ?? 1 });
  }

  /** Tells that the server no longer has it: the next one is created anew. */
  forget(key: string): void {
    this.#written.delete(key);
  }

  #admits(object: string, now: number): boolean {
    const bucket = this.#buckets.get(object) ?? { tokens: BURST, at: now };
    const tokens = Math.min(BURST, bucket.tokens + Math.max(0, now - bucket.at) / REFILL_MS);
    const admitted = tokens >= 1;
    remember(this.#buckets, object, { tokens: admitted ? tokens - 1 : tokens, at: now });
    return admitted;
  }

  #isCombined(group: string, message: string, now: number): boolean {
    const known = this.#alike.get(group);
    const fresh = known === undefined || now - known.since > ALIKE_WINDOW_MS;
    const { messages } = fresh ? { messages: new Set<string>() } : known;
    remember(this.#alike, group, { messages, since: now });
    // Past the limit the set does not grow: what matters is only that it was passed.
    if (messages.size < ALIKE_LIMIT) messages.add(message);
    return messages.size >= ALIKE_LIMIT && !messages.has(message);
  }
}

/** A Map keeps its order of insertion: re-inserting what is used makes the first entry the longest unused. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED) for (const [oldest] of map) return void map.delete(oldest);
}
