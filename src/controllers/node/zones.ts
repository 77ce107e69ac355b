// How badly each zone is hit, and how fast pods may be driven off its nodes. Pure but for the counts it keeps.
// Guarantees: when no node at all is ready nothing is evicted: then it is we who cannot see, not they who are dead.
import { type Node, readiness } from './health.js';

type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption';

export interface EvictionRates {
  /** Nodes a second on which eviction may begin. */
  readonly rate: number;
  /** The same in a large zone of which many nodes are not ready. */
  readonly secondaryRate: number;
  /** The share of nodes not ready from which a zone counts as disrupted. */
  readonly unhealthyThreshold: number;
  /** A disrupted zone of at most so many nodes is left alone. */
  readonly largeZone: number;
}

export const EVICTION_RATES: EvictionRates = {
  rate: 0.1,
  secondaryRate: 0.01,
  unhealthyThreshold: 0.55,
  largeZone: 50,
};

export function zoneOf({ metadata }: Node): string {
  const { labels = {} } = metadata;
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`;
}

interface Members {
  ready: number;
  notReady: number;
}

export function zoneState({ ready, notReady }: Readonly<Members>, unhealthyThreshold: number): ZoneState {
  if (ready === 0 && notReady > 0) return 'FullDisruption';
  const share = notReady / (ready + notReady);
  return notReady > 2 && share >= unhealthyThreshold ? 'PartialDisruption' : 'Normal';
}

/** The nodes of each zone, counted as they come, change and go: asking costs nothing per node. */
export class Zones {
  readonly #zones = new Map<string, Members>();
  readonly #nodes = new Map<string, { readonly zone: string; readonly state: keyof Members }>();
  readonly #rates: EvictionRates;

  constructor(rates: EvictionRates) {
    this.#rates = rates;
  }

  set(node: Node): void {
    this.delete(node);
    const zone = zoneOf(node);
    const state = readiness(node) === 'True' ? 'ready' : 'notReady';
    const members = this.#zones.get(zone) ?? { ready: 0, notReady: 0 };
    members[state] += 1;
    this.#zones.set(zone, members);
    this.#nodes.set(node.metadata.name, { zone, state });
  }

  /** Takes it out as it was counted, whatever it has become since. */
  delete({ metadata }: Node): void {
    const counted = this.#nodes.get(metadata.name);
    const members = counted === undefined ? undefined : this.#zones.get(counted.zone);
    if (counted === undefined || members === undefined) return;
    this.#nodes.delete(metadata.name);
    members[counted.state] -= 1;
    if (members.ready + members.notReady === 0) this.#zones.delete(counted.zone);
  }

  /** No zone has a ready node: nothing may be evicted, and what began is taken back. */
  get allDown(): boolean {
    return [...this.#zones.values()].every((members) => this.#stateOf(members) === 'FullDisruption');
  }

  /** Nodes a second. In a small zone a partial outage may be ours; in a large one eviction goes on, slowly. */
  rateOf(zone: string): number {
    const members = this.#zones.get(zone);
    if (members === undefined) return 0;
    const { rate, secondaryRate, largeZone } = this.#rates;
    if (this.#stateOf(members) !== 'PartialDisruption') return rate;
    return members.ready + members.notReady > largeZone ? secondaryRate : 0;
  }

  #stateOf(members: Members): ZoneState {
    return zoneState(members, this.#rates.unhealthyThreshold);
  }
}
