// Decides a batch of transactions against the keys as they are: what each changes, or why it is refused. Pure.
// Guarantees: decided in order, seeing one another; a transaction changes all or nothing; each change has its revision.
import {
  type Check,
  type Entry,
  existsAlready,
  notAsExpected,
  type StoreError,
  type StoreEvent,
  type Write,
} from './store.js';

/** The changes of a transaction, or what refused it. */
export type Outcome = readonly StoreEvent[] | StoreError;

/** `current` answers what a key holds before the batch; `revision` is the newest one. */
export function decideBatch(
  transactions: readonly (readonly (Write | Check)[])[],
  current: (key: string) => Entry | undefined,
  revision: number,
): Outcome[] {
  const changed = new Map<string, Entry | undefined>();
  const holds = (key: string) => (changed.has(key) ? changed.get(key) : current(key));
  let newest = revision;
  return transactions.map((writes) => {
    const befores = writes.map(({ key }) => holds(key));
    for (const [at, write] of writes.entries()) {
      const refusal = refuse(write, befores[at]);
      if (refusal !== undefined) return refusal;
    }
    return writes.flatMap((write, at) => {
      if (write.verb === 'check') return [];
      newest += 1;
      const { key } = write;
      const change = changeOf(write, befores[at], newest);
      changed.set(key, change.type === 'put' ? { key, value: change.value, revision: newest } : undefined);
      return [change];
    });
  });
}

function refuse(write: Write | Check, before: Entry | undefined): StoreError | undefined {
  const { key } = write;
  if (write.verb === 'create') return before === undefined ? undefined : existsAlready(key);
  const held = before?.revision ?? 0;
  return held > 0 && held === write.expected ? undefined : notAsExpected(key, held, write.expected);
}

function changeOf(write: Write, before: Entry | undefined, revision: number): StoreEvent {
  const { key } = write;
  const previous = before === undefined ? {} : { previous: before };
  if (write.verb !== 'delete') {
    const { buffer, byteOffset, byteLength } = write.value;
    return { type: 'put', key, revision, value: Buffer.from(buffer, byteOffset, byteLength), ...previous };
  }
  return { type: 'delete', key, revision, value: before?.value ?? Buffer.alloc(0), ...previous };
}
