// How badly each zone is hit, and how fast pods may be driven off its nodes. Pure.
// Guarantees: when no node at all is ready nothing is evicted: then it is we who cannot see, not they who are dead.
import { type Node, readiness } from './health.js';

export type ZoneState = 'Normal' | 'PartialDisruption' | 'FullDisruption';

const UNHEALTHY_FRACTION = 0.55;
const LARGE_ZONE = 50;
/** Nodes a second. */
const RATE = 0.1;
const SECONDARY_RATE = 0.01;

export function zoneOf({ metadata }: Node): string {
  const { labels = {} } = metadata;
  return `${labels['topology.kubernetes.io/region'] ?? ''}:${labels['topology.kubernetes.io/zone'] ?? ''}`;
}

export function zoneState(nodes: readonly Node[]): ZoneState {
  const ready = nodes.filter((node) => readiness(node) === 'True').length;
  const notReady = nodes.length - ready;
  if (ready === 0 && notReady > 0) return 'FullDisruption';
  return notReady > 2 && notReady / nodes.length >= UNHEALTHY_FRACTION ? 'PartialDisruption' : 'Normal';
}

export interface EvictionPace {
  /** No zone has a ready node: nothing may be evicted, and what began is taken back. */
  readonly allDown: boolean;
  /** Nodes a second on which eviction may begin. */
  rateOf(zone: string): number;
}

export function evictionPace(nodes: readonly Node[]): EvictionPace {
  const zones = [...groupByZone(nodes)].map(([zone, members]) => ({
    zone,
    rate: rateOf(zoneState(members), members.length),
    isDown: zoneState(members) === 'FullDisruption',
  }));
  const rates = new Map(zones.map(({ zone, rate }) => [zone, rate]));
  return { allDown: zones.every(({ isDown }) => isDown), rateOf: (zone) => rates.get(zone) ?? 0 };
}

/** In a small zone a partial outage may be ours; in a large one it goes on, slowly. */
function rateOf(state: ZoneState, size: number): number {
  if (state !== 'PartialDisruption') return RATE;
  return size > LARGE_ZONE ? SECONDARY_RATE : 0;
}

function groupByZone(nodes: readonly Node[]): Map<string, Node[]> {
  const zones = new Map<string, Node[]>();
  for (const node of nodes) {
    const members = zones.get(zoneOf(node));
    if (members === undefined) zones.set(zoneOf(node), [node]);
    else members.push(node);
  }
  return zones;
}
