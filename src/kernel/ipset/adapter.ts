// The kernel's sets through the native core.
// Guarantees: requests with very many entries never stall the event loop; failures name the caller's own requests.
import type { NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import { type Failure, KernelError } from '../error.js';
import type { IpSet, IpSetEntry, IpSetHeader, IpSetPort, IpSetRequest } from './port.js';

/** Entries in one request to the core; about half a millisecond of JSON. */
const PIECE = 2000;

interface Piece {
  readonly request: IpSetRequest;
  /** Of the caller's request. */
  readonly index: number;
  /** Of the piece's first entry. */
  readonly offset: number;
}

/** Requests whose lists of entries are short enough for one slice of work each. */
export function cutRequests(requests: readonly IpSetRequest[]): Piece[] {
  return requests.flatMap((request, index) => {
    if (request.kind !== 'entry' || request.entries.length <= PIECE) return [{ request, index, offset: 0 }];
    const pieces: Piece[] = [];
    for (let offset = 0; offset < request.entries.length; offset += PIECE)
      pieces.push({
        request: { ...request, entries: request.entries.slice(offset, offset + PIECE) },
        index,
        offset,
      });
    return pieces;
  });
}

/** Failures of pieces as failures of the requests they were cut from. */
export function joinFailures(pieces: readonly Piece[], failures: readonly Failure[]): Failure[] {
  const whole = new Set<number>();
  return failures.flatMap((failure) => {
    const piece = failure.index === undefined ? undefined : pieces[failure.index];
    if (piece === undefined) return [failure];
    const told = { ...failure, index: piece.index };
    if (failure.entry !== undefined) return [{ ...told, entry: failure.entry + piece.offset }];
    // A request that failed as a whole did so in each of its pieces.
    if (whole.has(piece.index)) return [];
    whole.add(piece.index);
    return [told];
  });
}

type Listed = IpSetHeader | { readonly set: string; readonly entries: readonly IpSetEntry[] };

class NativeIpset implements IpSetPort {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  async apply(requests: readonly IpSetRequest[]): Promise<void> {
    const pieces = cutRequests(requests);
    try {
      await this.#channel.apply(pieces.map((piece) => piece.request));
    } catch (error) {
      if (!(error instanceof KernelError)) throw error;
      const [first, ...rest] = joinFailures(pieces, error.failures);
      if (first === undefined) throw error;
      throw new KernelError([first, ...rest], { cause: error.cause });
    }
  }

  async list(): Promise<IpSet[]> {
    return this.#sets({ kind: 'set' });
  }

  async listHeaders(): Promise<IpSetHeader[]> {
    return this.#channel.query<IpSetHeader>({ kind: 'set', entries: false });
  }

  async get(name: string): Promise<IpSet | undefined> {
    try {
      const [set] = await this.#sets({ kind: 'set', name });
      return set;
    } catch (error) {
      if (error instanceof KernelError && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async test(set: string, entries: readonly string[]): Promise<boolean[]> {
    const tested = await this.#channel.query<{ member: boolean }>({ kind: 'membership', set, entries });
    return tested.map((entry) => entry.member);
  }

  close(): void {
    this.#channel.close();
  }

  // A set's members follow its header in pieces.
  async #sets(query: object): Promise<IpSet[]> {
    const sets: (IpSetHeader & { entries: IpSetEntry[] })[] = [];
    for (const listed of await this.#channel.query<Listed>(query)) {
      if ('name' in listed) sets.push({ ...listed, entries: [] });
      else for (const entry of listed.entries) sets.at(-1)?.entries.push(entry);
    }
    return sets;
  }
}

/** Opens the sets of a namespace. EOPNOTSUPP with a sentence when the kernel has no ipset. The caller closes. */
export async function openIpset(netns?: NetNs): Promise<IpSetPort> {
  return new NativeIpset(await Channel.open('ipset', netns));
}
