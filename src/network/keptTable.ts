// A small nf_tables table of ours that stays as it was written: what others remove or replace is written again.
// Guarantees: looked at after every event about it, and now and then; our own writes are never taken for others'; a failure
// is tried again with the next look.
import type { Log } from '../api/log.js';
import { Closers } from '../base/closers.js';
import type { NftEvent, NftPort, NftRequest } from '../kernel/nftables/port.js';

interface KeptTableOptions {
  readonly nft: NftPort;
  /** In either family. */
  readonly name: string;
  readonly log: Log;
  readonly lookEveryMs?: number;
}

const FAMILIES = ['ip', 'ip6'] as const;
const LOOK_EVERY_MS = 30_000;
/** Changes that come together are looked at together. */
const SETTLE_MS = 50;
const WRITES = 3;

export class KeptTable {
  readonly #options: KeptTableOptions;

  readonly #parts = new Map<string, readonly NftRequest[]>();
  readonly #closers = new Closers((error) => this.#options.log.error('could not end in order', { error }));
  /** What the table was after our last write. */
  #written = '';
  #turn: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: KeptTableOptions) {
    this.#options = options;

    const { nft, lookEveryMs = LOOK_EVERY_MS } = options;
    const watch = nft.watch((events) => {
      if (events.some((event) => this.#concerns(event))) this.#soon();
    });
    const interval = setInterval(() => this.#soon(), lookEveryMs);
    interval.unref();
    this.#closers.add(
      () => watch.close(),
      () => clearInterval(interval),
      () => clearTimeout(this.#timer),
    );
  }

  /** Writes one part of the table, which replaces what that part was before. Rejects when the kernel refuses it. */
  set(part: string, requests: readonly NftRequest[]): Promise<void> {
    return this.#inTurn(async () => {
      await this.#write(requests, new Map(this.#parts).set(part, requests));
      this.#parts.set(part, requests);
    });
  }

  /** Leaves the table as it is. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#closers.close();
    await this.#turn;
  }

  #concerns(event: NftEvent): boolean {
    if (event.event === 'lost') return true;
    if (event.event === 'generation') return false;
    const { object } = event;
    return (object.kind === 'table' ? object.name : object.table) === this.#options.name;
  }

  #soon(): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#inTurn(() => this.#look());
    }, SETTLE_MS);
  }

  async #look(): Promise<void> {
    const { name, log } = this.#options;
    if (this.#parts.size === 0 || this.#isStopped) return;
    try {
      if ((await this.#read()) === this.#written) return;
      log.warn('somebody changed a table of ours; writing it anew', { table: name });
      await this.#write([...this.#parts.values()].flat(), this.#parts);
    } catch (error) {
      log.warn('a table of ours could not be looked after', { table: name, error });
    }
  }

  /** All parts again where somebody wrote between our commit and our look at it: that may have been to this very table. */
  async #write(
    requests: readonly NftRequest[],
    parts: ReadonlyMap<string, readonly NftRequest[]>,
  ): Promise<void> {
    const { nft } = this.#options;
    let next = requests;
    for (let left = WRITES; left > 0; left--) {
      const before = await nft.generation();
      await nft.commit(next);
      this.#written = await this.#read();
      if ((await nft.generation()) === before + 1) return;
      next = [...parts.values()].flat();
    }
    // Nobody knows whose state that is: the next look writes anew.
    this.#written = '';
  }

  /** Whoever replaces a rule gives it a new number, so that numbers tell rules apart; elements are told by their keys. */
  async #read(): Promise<string> {
    const { nft, name: table } = this.#options;
    const all = await Promise.all(
      FAMILIES.map(async (family) => {
        const [chains, rules, sets] = await Promise.all([
          nft.chains({ family, table }),
          nft.rules({ family, table }),
          nft.sets({ family, table }),
        ]);
        const elements = await Promise.all(
          sets.map(async ({ name: set }) =>
            (await nft.elements({ family, table, set })).map(({ key }) => key).sort(),
          ),
        );
        const handles = [...chains, ...rules, ...sets].map(({ handle }) => handle);
        return [family, handles, elements];
      }),
    );
    return JSON.stringify(all);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }
}
