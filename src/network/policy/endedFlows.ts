// The ways back of connections that were ended: what is still sent on them must not begin a connection of its own.
// Guarantees: only protocols that have no beginning are held; a way back is free again after a while, whoever ended what.
import type { Flow } from '../../kernel/conntrack/port.js';
import * as names from './names.js';
import type { Images } from './sharedSets.js';

interface EndedFlowsOptions {
  /** The tables as they are changed; not settled by being asked for. */
  readonly images: () => Images;
  now(): number;
}

/** Longer than programs wait for an answer before they give a connection up (QUIC: 30 s). */
export const HELD_MS = 60_000;

export class EndedFlows {
  readonly #options: EndedFlowsOptions;
  /** When each is free again, in that order. */
  readonly #until = new Map<string, number>();

  constructor(options: EndedFlowsOptions) {
    this.#options = options;
  }

  /** How many are held. */
  get size(): number {
    return this.#until.size;
  }

  /** Whether the tables have changed: they must be in the kernel before the flows are ended. */
  hold(flows: readonly Flow[]): boolean {
    const keys = flows.flatMap(wayBack);
    const free = this.#options.now() + HELD_MS;
    for (const key of keys) {
      this.#until.delete(key);
      this.#until.set(key, free);
      this.#image(key).putElement(names.ENDED, { key });
    }
    return keys.length > 0;
  }

  /** Whether the tables have changed. */
  expire(): boolean {
    const before = this.#until.size;
    const now = this.#options.now();
    for (const [key, free] of this.#until) {
      if (free > now) break;
      this.#until.delete(key);
      this.#image(key).removeElement(names.ENDED, key);
    }
    return this.#until.size < before;
  }

  #image(key: string) {
    return this.#options.images()[key.includes(':') ? 'ip6' : 'ip'];
  }
}

/** As an answer that is not translated: it is judged where its source is still the pod's. */
function wayBack({ protocol, reply }: Flow): string[] {
  const { source, sourcePort, destination, destinationPort } = reply;
  if (protocol !== 'udp' || sourcePort === undefined || destinationPort === undefined) return [];
  return [`${source} . ${sourcePort} . ${destination} . ${destinationPort}`];
}
