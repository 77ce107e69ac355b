// One family of kernel objects in one namespace: batches of requests down, lists of objects up.
// Guarantees: calls are done in order; large batches are turned into bytes in slices so that the loop keeps turning.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AddonChannel, addon, type NetNs } from './addon.js';
import { type Failure, KernelError } from './error.js';

/** The families the core knows. */
export type FamilyName = 'route' | 'nftables' | 'ipset' | 'ipvs' | 'conntrack';

/** Requests turned into JSON between two turns of the event loop; about half a millisecond's work. */
const SLICE = 500;

/** How many plain requests a request is worth, for those that hold long lists. */
export type Weigh = (request: object) => number;

async function toChunks(requests: readonly object[], weigh: Weigh): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let from = 0;
  let weight = 0;
  for (const [index, request] of requests.entries()) {
    weight += weigh(request);
    if (weight < SLICE && index + 1 < requests.length) continue;
    if (from > 0) await nextTurn();
    chunks.push(Buffer.from(JSON.stringify(requests.slice(from, index + 1))));
    from = index + 1;
    weight = 0;
  }
  return chunks;
}

async function fromChunks<T>(chunks: readonly Buffer[]): Promise<T[]> {
  const lists: T[][] = [];
  for (const chunk of chunks) {
    if (lists.length > 0) await nextTurn();
    lists.push(JSON.parse(chunk.toString()) as T[]);
  }
  return lists.flat();
}

export class Channel {
  readonly #channel: AddonChannel;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(channel: AddonChannel) {
    this.#channel = channel;
  }

  static async open(family: FamilyName, netns?: NetNs): Promise<Channel> {
    try {
      return new Channel(await addon().open(family, netns));
    } catch (error) {
      throw KernelError.from(error);
    }
  }

  /**
   * Does the requests in order. Rejects with a KernelError that holds every refused request; the ones around it are
   * done all the same, unless the family commits all or nothing. A request that makes no sense (code INVALID) is found
   * before anything is sent.
   */
  async apply(requests: readonly object[], weigh: Weigh = () => 1): Promise<void> {
    if (requests.length === 0) return;
    const failures = await this.#inTurn(async () =>
      fromChunks<Failure>([await this.#channel.apply(await toChunks(requests, weigh))]),
    );
    const [first, ...rest] = failures;
    if (first !== undefined) throw new KernelError([first, ...rest]);
  }

  /** Lists what the query asks for. */
  async query<T>(query: object): Promise<T[]> {
    return this.#inTurn(async () =>
      fromChunks<T>(await this.#channel.query(Buffer.from(JSON.stringify(query)))),
    );
  }

  /** Idempotent. A call under way is finished; a later one rejects with code CLOSED. */
  close(): void {
    this.#channel.close();
  }

  // One call at a time: a second would only occupy a libuv thread while it waits for the first.
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work).catch((error: unknown) => {
      throw KernelError.from(error);
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
