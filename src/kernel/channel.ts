// One family of kernel objects in one namespace: batches of requests down, lists of objects up.
// Guarantees: calls are done in order; large batches are turned into bytes in slices so that the loop keeps turning.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AddonChannel, addon, type NetNs } from './addon.js';
import { type Failure, KernelError } from './error.js';

/** The families the core knows. */
type FamilyName = 'route' | 'nftables' | 'ipset' | 'ipvs' | 'conntrack' | 'xtables';

/** Characters of JSON made between two turns of the event loop; about half a millisecond's work. */
const SLICE = 64 * 1024;

// Measured in characters, not in requests: one request may hold a thousand entries of a set.
async function toChunks(requests: Iterable<object>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let slice: string[] = [];
  let length = 0;
  for (const request of requests) {
    if (length >= SLICE) {
      chunks.push(Buffer.from(`[${slice.join()}]`));
      slice = [];
      length = 0;
      await nextTurn();
    }
    const text = JSON.stringify(request);
    slice.push(text);
    length += text.length;
  }
  chunks.push(Buffer.from(`[${slice.join()}]`));
  return chunks;
}

/** The query as JSON, with a member `filters` that is turned into bytes as requests are. */
async function toQuery(query: object, filters: readonly object[] | undefined): Promise<Uint8Array> {
  const head = JSON.stringify(query);
  if (filters === undefined) return Buffer.from(head);
  const parts: Uint8Array[] = [Buffer.from(`${head.slice(0, -1)},"filters":[`)];
  for (const chunk of await toChunks(filters)) {
    if (parts.length > 1) parts.push(Buffer.from(','));
    parts.push(chunk.subarray(1, -1));
  }
  return Buffer.concat([...parts, Buffer.from(']}')]);
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
  async apply(requests: Iterable<object>): Promise<void> {
    if (Array.isArray(requests) && requests.length === 0) return;
    const failures = await this.#inTurn(async () =>
      fromChunks<Failure>([await this.#channel.apply(await toChunks(requests))]),
    );
    const [first, ...rest] = failures;
    if (first !== undefined) throw new KernelError([first, ...rest]);
  }

  /** Lists what the query asks for; `filters`, of any number, become its member of that name. */
  async query<T>(query: object, filters?: readonly object[]): Promise<T[]> {
    return this.#inTurn(async () => fromChunks<T>(await this.#channel.query(await toQuery(query, filters))));
  }

  /** Lists the objects of a kind that a filter lets through. */
  list(kind: string) {
    return <T>(filter: object = {}): Promise<T[]> => this.query<T>({ kind, ...filter });
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
