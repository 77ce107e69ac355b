// Traces packets through the policies of this node: a table that marks one packet, and the rules that the kernel says it met.
// Guarantees: nothing that decides is changed; what is not ended is ended after a while, and by the kernel when this process dies.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NetNs } from '../../kernel/addon.js';
import { openNft } from '../../kernel/nftables/adapter.js';
import type { NftPort } from '../../kernel/nftables/port.js';
import { type TraceEvent, watchTraces } from '../../kernel/nftables/trace.js';
import type { Probe } from '../../kernel/probe.js';
import type { Images } from './sharedSets.js';
import type { PolicyFamily } from './table.js';
import type { Decision } from './tableImage.js';
import { chainsMet, stepsOf, type TracedWay, wayOf } from './tracedWay.js';
import { traceRequests } from './traceTable.js';

interface PolicyTracerOptions {
  readonly table: string;
  /** The tables as they are in the kernel. */
  images(): Promise<Images>;
  /** The namespace of the node, when it is not our own. */
  readonly netns?: NetNs;
}

const LIFE_MS = 20_000;
const MOST = 8;
/** Of one packet. */
const MOST_EVENTS = 2_000;
/** The kernel tells of a packet at once; another process may be in its way. */
const LOOK_MS = 20;
const LOOKS = 25;

interface Running {
  readonly probe: Probe;
  readonly own: string;
  readonly nft: NftPort;
  readonly events: TraceEvent[];
  close(): void;
}

export class PolicyTracer {
  readonly #options: PolicyTracerOptions;
  readonly #running = new Map<string, Running>();

  constructor(options: PolicyTracerOptions) {
    this.#options = options;
  }

  /** Resolves when the next packet of this kind will be traced, to what `end` is asked with. */
  async begin(probe: Probe): Promise<string> {
    if (this.#running.size >= MOST) throw new Error(`${MOST} packets are being traced already; try again`);
    await this.#options.images();
    const id = randomBytes(8).toString('hex');
    const own = `trellis-trace-${id}`;
    const nft = await openNft(this.#options.netns);
    const events: TraceEvent[] = [];
    const watch = watchTraces(
      '',
      (some) => void events.push(...some.slice(0, MOST_EVENTS - events.length)),
      this.#options.netns,
    );
    const timer = setTimeout(() => this.#forget(id), LIFE_MS);
    timer.unref();
    const close = () => {
      clearTimeout(timer);
      watch.close();
      nft.close();
    };
    this.#running.set(id, { probe, own, nft, events, close });
    try {
      await nft.commit(traceRequests(own, probe));
    } catch (error) {
      this.#forget(id);
      throw error;
    }
    return id;
  }

  /** What became of the packet on this node. */
  async end(id: string): Promise<TracedWay> {
    const running = this.#running.get(id);
    if (running === undefined) throw new Error('no such trace, or it took too long');
    try {
      const { own, events, probe, nft } = running;
      const place = { table: this.#options.table, own };
      const read = () => stepsOf(events, probe, place);
      for (let looks = LOOKS; looks > 0; looks--) {
        const { what } = wayOf(read(), place, () => undefined).end;
        if (what !== 'unseen' && what !== 'unknown') break;
        await sleep(LOOK_MS);
      }
      const steps = read();
      const family = probe.from.includes(':') ? 'ip6' : 'ip';
      return wayOf(steps, place, await this.#reading(nft, family, chainsMet(steps, place)));
    } finally {
      this.#forget(id);
    }
  }

  close(): void {
    for (const id of [...this.#running.keys()]) this.#forget(id);
  }

  #forget(id: string): void {
    this.#running.get(id)?.close();
    this.#running.delete(id);
  }

  /** A chain that is written anew gets rules of other numbers: a number that is there means what it meant. */
  async #reading(nft: NftPort, family: PolicyFamily, chains: readonly string[]) {
    const { images, table } = this.#options;
    const image = (await images())[family];
    const meanings = new Map<string, Map<number, Decision | undefined>>();
    for (const chain of chains) {
      const meant = image.rulesOf(chain);
      const rules = await nft.rules({ family, table, chain });
      if (rules.length !== meant.length || image.rulesOf(chain) !== meant) continue;
      meanings.set(chain, new Map(rules.map(({ handle }, i) => [handle, meant[i]?.decision])));
    }
    return (chain: string, handle: number): Decision | 'gone' | undefined => {
      const known = meanings.get(chain);
      return known?.has(handle) === true ? known.get(handle) : 'gone';
    };
  }
}
