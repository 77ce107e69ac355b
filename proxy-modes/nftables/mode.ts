// The nftables mode: the one place of it that touches the kernel.
// Guarantees: each family is one atomic transaction; what was committed is remembered only after it was.

import type { GoneObject, NftPort, NftRequest } from '../../src/kernel/nftables/port.js';
import type { IpFamily, PerFamily, ProxyMode, ProxyState, TrafficOptions } from '../../src/proxy/state.js';
import { syncEach } from '../families.js';
import { balanceChain } from './names.js';
import { baseChains, sets, type TableName } from './plan/base.js';
import { SHARED_CHAIN } from './plan/service.js';
import { advance, type Programmed, transaction } from './transaction.js';

export interface NftablesModeOptions {
  readonly nft: NftPort;
  readonly table: string;
  readonly families: readonly IpFamily[];
  readonly traffic: PerFamily<TrafficOptions>;
}

interface Remembered {
  readonly services: Map<string, Programmed>;
  readonly shared: Map<string, number>;
}

export function nftablesMode({ nft, table, families, traffic }: NftablesModeOptions): ProxyMode {
  const applied = new Map<IpFamily, Remembered>();
  const drift = new Drift();
  let forgotten = 0;
  const syncFamily = async (family: IpFamily, state: ProxyState, changed?: ReadonlySet<string>) => {
    const before = applied.get(family);
    const start = forgotten;
    const step = transaction({ family, table }, { state, changed }, before, traffic[family] ?? {});
    if (step.requests.length === 0) {
      if (before !== undefined) advance(before, step);
      return 0;
    }
    applied.delete(family);
    await drift.own(step.requests, () => nft.commit(step.requests));
    const record = before ?? { services: new Map(), shared: new Map() };
    advance(record, step);
    // Somebody may have flushed it meanwhile: then it stays unknown.
    if (start === forgotten) applied.set(family, record);
    return step.requests.length;
  };
  return {
    name: 'nftables',
    sync: (state, changed) => syncEach(families, (family) => syncFamily(family, state, changed)),
    forget: () => {
      forgotten += 1;
      applied.clear();
    },
    check: async () => {
      const intact = await Promise.all(
        families.map((family) => {
          const record = applied.get(family);
          return record === undefined ? true : isIntact(nft, { family, table }, record);
        }),
      );
      return intact.every(Boolean);
    },
    watch: (onDrift) => drift.watch(nft, table, onDrift),
    cleanUp: async () => {
      await nft.commit(
        (['ip', 'ip6'] as const).map(
          (family): NftRequest => ({ do: 'destroy', kind: 'table', family, name: table }),
        ),
      );
      applied.clear();
    },
    close: () => nft.close(),
  };
}

/** Whether the table has as many elements and chains as were put into it. */
async function isIntact(nft: NftPort, place: TableName, { services, shared }: Remembered): Promise<boolean> {
  if ((await nft.tables({ family: place.family, name: place.table })).length === 0) return false;
  const wanted = new Map(Object.keys(sets(place)).map((set) => [set, 0]));
  const count = (set: string, by = 1) => wanted.set(set, (wanted.get(set) ?? 0) + by);
  const chains = new Set(baseChains(place));
  for (const { plan } of services.values()) {
    for (const [set, elements] of Object.entries(plan.elements)) count(set, elements.length);
    for (const chain of plan.chains.keys()) chains.add(chain);
  }
  for (const element of shared.keys()) {
    const [set = '', endpoints] = element.split(' ');
    if (set === SHARED_CHAIN) chains.add(balanceChain(Number(endpoints)));
    else count(set);
  }
  const found = await nft.chains({ family: place.family, table: place.table });
  if (found.length !== chains.size || found.some(({ name }) => !chains.has(name))) return false;
  for (const [set, number] of wanted)
    if ((await nft.elements({ ...place, set })).length !== number) return false;
  return true;
}

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
