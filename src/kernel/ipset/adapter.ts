// The kernel's sets through the native core.
// Guarantees: requests with very many entries never stall the event loop; failures name the caller's own requests.
import type { NetNs } from '../addon.js';
import { Channel } from '../channel.js';
import { KernelError } from '../error.js';
import { applySplit, splitRequests } from '../splitRequests.js';
import type { IpSet, IpSetEntry, IpSetHeader, IpSetPort, IpSetRequest } from './port.js';

/** Entries in one request to the core; about half a millisecond of JSON. */
const PIECE = 2000;

type Listed = IpSetHeader | { readonly set: string; readonly entries: readonly IpSetEntry[] };

class NativeIpset implements IpSetPort {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  async apply(requests: readonly IpSetRequest[]): Promise<void> {
    await applySplit(splitRequests(requests, 'entries', PIECE), (pieces) => this.#channel.apply(pieces));
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
