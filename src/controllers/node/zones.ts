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

/** Nodes a second on which eviction may begin, by zone; zero everywhere when every zone is wholly down. */
export function evictionRates(nodes: readonly Node[]): Map<string, number> {
  const zones = groupByZone(nodes);
  const states = [...zones].map(([zone, members]) => ({
    zone,
    size: members.length,
    state: zoneState(members),
  }));
  const allDown = states.every(({ state }) => state === 'FullDisruption');
  return new Map(
    states.map(({ zone, size, state }) => {
      if (allDown) return [zone, 0];
      if (state !== 'PartialDisruption') return [zone, RATE];
      return [zone, size > LARGE_ZONE ? SECONDARY_RATE : 0];
    }),
  );
}

function groupByZone(nodes: readonly Node[]): Map<string, Node[]> {
  const zones = new Map<string, Node[]>();
  for (const node of nodes) zones.set(zoneOf(node), [...(zones.get(zoneOf(node)) ?? []), node]);
  return zones;
}
