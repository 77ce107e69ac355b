// Sends past changes to watches that start far behind: one pass over the log for all that wait.
// Guarantees: at most one reading at a time; each member gets every change after the earliest wish, and drops what it knows.
import type { StoreEvent } from './store.js';

export interface PastWish {
  readonly after: number;
  readonly prefix: string;
}

/** Reads the changes after a revision in pieces, with pauses; decides itself up to where, when it starts. */
type ReadPast = (wish: PastWish) => AsyncIterable<readonly StoreEvent[]>;

/** A piece and the promise of the next: members go along it at their pace, and what all have passed is forgotten. */
type Link = Promise<{ readonly events: readonly StoreEvent[]; readonly next: Link } | undefined>;

interface Round {
  after: number;
  prefix: string;
  readonly first: Link;
  start(): Promise<void>;
}

export class CatchUp {
  readonly #read: ReadPast;

  #waiting: Round | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(read: ReadPast) {
    this.#read = read;
  }

  /** What follows may begin before `wish.after` and hold changes of other keys. */
  join(wish: PastWish): AsyncIterable<readonly StoreEvent[]> {
    const round = this.#waiting ?? this.#open(wish);
    round.after = Math.min(round.after, wish.after);
    round.prefix = commonPrefix(round.prefix, wish.prefix);
    return along(round.first);
  }

  #open(wish: PastWish): Round {
    let link = makeLink();
    const round: Round = {
      ...wish,
      first: link.promise,
      start: async () => {
        try {
          for await (const events of this.#read({ after: round.after, prefix: round.prefix })) {
            const next = makeLink();
            link.resolve({ events, next: next.promise });
            link = next;
          }
          link.resolve(undefined);
        } catch (error) {
          link.reject(error);
        }
      },
    };
    this.#waiting = round;
    this.#running = this.#running.then(() => {
      // Who comes from now on would miss the beginning.
      this.#waiting = undefined;
      return round.start();
    });
    return round;
  }
}

function makeLink() {
  let resolve: (value: Awaited<Link>) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise: Link = new Promise((done, failed) => {
    resolve = done;
    reject = failed;
  });
  // Members hear of it; without any there is nobody to tell.
  promise.catch(() => {});
  return { promise, resolve, reject };
}

async function* along(first: Link): AsyncGenerator<readonly StoreEvent[]> {
  for (let at = await first; at !== undefined; at = await at.next) yield at.events;
}

export function commonPrefix(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}
