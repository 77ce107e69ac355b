// The nftables mode: the one place of it that touches the kernel.
// Guarantees: each family is one atomic transaction; what was committed is remembered only after it was; a service that the
// kernel refuses is left out and told, and the others are served; who stays with an endpoint does so over a full write.
import { KernelError } from '../../src/kernel/error.js';
import type { GoneObject, NftPort, NftRequest } from '../../src/kernel/nftables/port.js';
import { syncEach } from '../families.js';
import { FamilyRecords } from '../familyRecords.js';
import type { IpFamily, PerFamily, ProxyMode, ProxyState, SyncReport, TrafficOptions } from '../mode.js';
import { isIntact } from './intact.js';
import { findRemains } from './remains.js';
import { advance, type Programmed, type Transaction, transaction, type Wanted } from './transaction.js';

interface NftablesModeOptions {
  readonly nft: NftPort;
  readonly table: string;
  readonly families: readonly IpFamily[];
  readonly traffic: PerFamily<TrafficOptions>;
}

interface Remembered {
  readonly services: Map<string, Programmed>;
  readonly shared: Map<string, number>;
}

export class NftablesMode implements ProxyMode {
  readonly name = 'nftables';
  readonly #options: NftablesModeOptions;
  readonly #records: FamilyRecords<Remembered>;
  readonly #drift = new Drift();

  constructor(options: NftablesModeOptions) {
    this.#options = options;
    this.#records = new FamilyRecords(options.traffic);
  }

  sync(state: ProxyState, changed?: ReadonlySet<string>): Promise<SyncReport> {
    return syncEach(this.#options.families, (family) => {
      const before = this.#records.get(family);
      return before === undefined
        ? this.#syncAll(family, state)
        : this.#syncChange(family, before, { state, changed });
    });
  }

  /** From what is known to be there. Nothing is known any more after a refusal. */
  async #syncChange(family: IpFamily, before: Remembered, wanted: Wanted): Promise<SyncReport> {
    const step = transaction(this.#placeOf(family), wanted, before, this.#records.traffic(family));
    const remember = this.#records.write(family);
    if (step.requests.length > 0) await this.#commit(step.requests);
    advance(before, step);
    remember(before);
    return { sent: step.requests.length };
  }

  /** Everything anew. What the kernel refuses of a service is that service's loss, and nobody else's. */
  async #syncAll(family: IpFamily, state: ProxyState): Promise<SyncReport> {
    const place = this.#placeOf(family);
    const failed = new Map<string, unknown>();
    for (let round = 0; ; round++) {
      const remember = this.#records.write(family);
      const remains = await findRemains(this.#options.nft, place);
      const wanted = { state, remains, without: failed, apart: round > 0 };
      const step = transaction(place, wanted, undefined, this.#records.traffic(family));
      const refusal = await this.#commit(step.requests).then(() => undefined, asKernelError);
      if (refusal === undefined) {
        const record = { services: new Map(), shared: new Map() };
        advance(record, step);
        remember(record);
        return { sent: step.requests.length, failed };
      }
      const culprits = culpritsOf(refusal, step);
      if (round > MOST_ROUNDS || (round > 0 && culprits.length === 0)) throw refusal;
      for (const [key, why] of culprits) failed.set(key, why);
    }
  }

  #placeOf(family: IpFamily) {
    return { family, table: this.#options.table };
  }

  #commit(requests: readonly NftRequest[]): Promise<void> {
    return this.#drift.own(requests, () => this.#options.nft.commit(requests));
  }

  setServiceCidrs(cidrs: readonly string[]): void {
    this.#records.setServiceCidrs(cidrs);
  }

  forget(): void {
    this.#records.forget();
  }

  async check(): Promise<boolean> {
    const { nft, families } = this.#options;
    const intact = await Promise.all(
      families.map((family) => {
        const record = this.#records.get(family);
        return record === undefined ? true : isIntact(nft, this.#placeOf(family), record);
      }),
    );
    return intact.every(Boolean);
  }

  watch(onDrift: () => void): () => void {
    return this.#drift.watch(this.#options.nft, this.#options.table, onDrift);
  }

  async cleanUp(): Promise<void> {
    const { nft, table } = this.#options;
    await nft.commit(
      (['ip', 'ip6'] as const).map(
        (family): NftRequest => ({ do: 'destroy', kind: 'table', family, name: table }),
      ),
    );
    this.#records.forget();
  }

  close(): void {
    this.#options.nft.close();
  }
}

/** The kernel names every request that it refuses at once: more rounds than a few mean that something else is wrong. */
const MOST_ROUNDS = 5;

function asKernelError(error: unknown): KernelError {
  if (error instanceof KernelError) return error;
  throw error;
}

/** Services whose requests were refused, each with why; none where the requests are not told apart. */
const culpritsOf = ({ failures }: KernelError, { requests, owners }: Transaction): [string, KernelError][] =>
  failures.flatMap((failure): [string, KernelError][] => {
    const request = requests[failure.index ?? -1];
    const key = request && owners.get(request);
    return key === undefined ? [] : [[key, new KernelError([failure])]];
  });

/**
 * Tells our own changes from those of others by counting: the kernel names the thread that committed, which nobody here
 * knows. Every commit of ours that changes more than elements is told once.
 */
class Drift {
  #expected = 0;
  #isWatched = false;

  /** Around a commit of ours. */
  async own(requests: readonly NftRequest[], commit: () => Promise<void>): Promise<void> {
    const isTold = this.#isWatched && requests.some(({ kind }) => kind !== 'element');
    if (isTold) this.#expected += 1;
    try {
      await commit();
    } catch (error) {
      if (isTold) this.#expected -= 1;
      throw error;
    }
  }

  watch(nft: NftPort, table: string, onDrift: () => void): () => void {
    this.#isWatched = true;
    let touched = false;
    const watch = nft.watch((events) => {
      for (const event of events) {
        if (event.event === 'lost') {
          this.#expected = 0;
          onDrift();
        } else if (event.event !== 'generation') {
          touched ||= tableOf(event.object) === table;
        } else if (touched) {
          touched = false;
          if (this.#expected > 0) this.#expected -= 1;
          else onDrift();
        }
      }
    });
    return () => {
      this.#isWatched = false;
      watch.close();
    };
  }
}

const tableOf = (object: GoneObject): string => (object.kind === 'table' ? object.name : object.table);
