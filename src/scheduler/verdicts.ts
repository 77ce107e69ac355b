// Caches the result of filtering a node for pods with equal requirements, until the node changes.
// Guarantees: a node that changed in any way is asked again; only pods to which nothing but sums matters share; bounded.
import type { FilterRun } from './filterRun.js';
import type { Plugin } from './plugin.js';
import { neededFeatures } from './plugins/nodeDeclaredFeatures.js';
import type { PodInfo } from './podInfo.js';
import type { Budgets } from './preemption/budgets.js';
import type { Found } from './preemption/victims.js';
import type { NodeTable } from './snapshot/nodeTable.js';

const MOST_DEMANDS = 16;

interface Refusal {
  readonly failed: number;
  readonly code: number;
  readonly isFinal: boolean;
}

interface Preemptible {
  readonly found: Found;
  /** Of an unfit node: why. */
  readonly failed: number;
  readonly code: number;
}

/** What the nodes said to one demand. */
export class Verdicts {
  readonly #table: NodeTable;
  readonly #refusals: (Refusal | undefined)[] = [];
  readonly #refusedAt: number[] = [];
  readonly #victims: (Preemptible | undefined)[] = [];
  readonly #foundAt: number[] = [];
  #budgets: Budgets | undefined;

  constructor(table: NodeTable) {
    this.#table = table;
  }

  /** Whether the node is known to refuse; the run is then as if it had asked. */
  refusal(slot: number, run: FilterRun): Refusal | undefined {
    if (this.#refusedAt[slot] !== this.#table.version(slot)) return undefined;
    const known = this.#refusals[slot];
    if (known === undefined) return undefined;
    run.failed = known.failed;
    run.code = known.code;
    return known;
  }

  keepRefusal(slot: number, { failed, code }: FilterRun, isFinal: boolean): void {
    const before = this.#refusals[slot];
    const isSame = before?.failed === failed && before.code === code && before.isFinal === isFinal;
    if (!isSame) this.#refusals[slot] = { failed, code, isFinal };
    this.#refusedAt[slot] = this.#table.version(slot);
  }

  /** Who would have to go from the node, when that is known; the run is then as if it had asked. */
  victims(slot: number, run: FilterRun, budgets: Budgets): Found | undefined {
    if (this.#budgets !== budgets || this.#foundAt[slot] !== this.#table.version(slot)) return undefined;
    const known = this.#victims[slot];
    if (known === undefined) return undefined;
    run.failed = known.failed;
    run.code = known.code;
    return known.found;
  }

  keepVictims(slot: number, { failed, code }: FilterRun, budgets: Budgets, found: Found): void {
    if (this.#budgets !== budgets) this.#foundAt.length = 0;
    this.#budgets = budgets;
    this.#victims[slot] = { found, failed, code };
    this.#foundAt[slot] = this.#table.version(slot);
  }
}

/** The verdicts of the demands that were made last. */
export class KnownVerdicts {
  readonly #byDemand = new Map<string, Verdicts>();
  readonly #profiles = new Map<readonly Plugin[], number>();

  of(pod: PodInfo, filters: readonly Plugin[], table: NodeTable): Verdicts {
    const profile = this.#profiles.get(filters) ?? this.#profiles.size;
    this.#profiles.set(filters, profile);
    const key = `${profile} ${demandOf(pod)}`;
    const known = this.#byDemand.get(key) ?? new Verdicts(table);
    // The one asked for longest ago stays first.
    this.#byDemand.delete(key);
    this.#byDemand.set(key, known);
    if (this.#byDemand.size > MOST_DEMANDS)
      for (const [oldest] of this.#byDemand) {
        this.#byDemand.delete(oldest);
        break;
      }
    return known;
  }
}

/** All that a filter which sees only nodes and sums can ask of a pod, as text. */
function demandOf({ priority, requests, spec }: PodInfo): string {
  const { nodeName, nodeSelector, tolerations, affinity, resourceClaims } = spec;
  let amounts = '';
  for (const [name, amount] of requests) amounts += `${name}=${amount},`;
  const asked = [nodeName, nodeSelector, tolerations, affinity?.nodeAffinity, resourceClaims];
  return `${priority} ${amounts} ${JSON.stringify([...asked, neededFeatures(spec)])}`;
}
