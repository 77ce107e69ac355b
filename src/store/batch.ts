// Decides a batch of writes against the keys as they are: what each changes, or why it is refused. Pure.
// Guarantees: writes are decided in order and see one another; every change gets the next revision.
import { type Entry, StoreError, type StoreEvent } from './store.js';

export type Write =
  | { readonly verb: 'create'; readonly key: string; readonly value: Buffer }
  | { readonly verb: 'update'; readonly key: string; readonly value: Buffer; readonly expected: number }
  | { readonly verb: 'delete'; readonly key: string; readonly expected: number };

export type Outcome = StoreEvent | StoreError;

/** `current` answers what a key holds before the batch; `revision` is the newest one. */
export function decideBatch(
  writes: readonly Write[],
  current: (key: string) => Entry | undefined,
  revision: number,
): Outcome[] {
  const changed = new Map<string, Entry | undefined>();
  let newest = revision;
  return writes.map((write) => {
    const { key } = write;
    const before = changed.has(key) ? changed.get(key) : current(key);
    const refusal = refuse(write, before);
    if (refusal !== undefined) return refusal;
    newest += 1;
    const change = changeOf(write, before, newest);
    changed.set(key, change.type === 'put' ? { key, value: change.value, revision: newest } : undefined);
    return change;
  });
}

function refuse(write: Write, before: Entry | undefined): StoreError | undefined {
  const { verb, key } = write;
  if (verb === 'create') {
    return before === undefined ? undefined : new StoreError('EXISTS', `key ${key} exists already`);
  }
  if (before === undefined) return new StoreError('MISSING', `key ${key} does not exist`);
  if (before.revision === write.expected) return undefined;
  return new StoreError('CONFLICT', `key ${key} is at revision ${before.revision}, not ${write.expected}`);
}

function changeOf(write: Write, before: Entry | undefined, revision: number): StoreEvent {
  const { key } = write;
  const previous = before === undefined ? {} : { previous: before };
  if (write.verb !== 'delete') return { type: 'put', key, revision, value: write.value, ...previous };
  return { type: 'delete', key, revision, value: before?.value ?? Buffer.alloc(0), ...previous };
}
