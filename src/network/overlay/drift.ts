// Which events of the kernel say that somebody else has touched what the overlay needs. Pure.
// Guarantees: our own changes, heard again, are not among them; a neighbour counts in whatever state it is told.
import type { Family } from '../../api/ip.js';
import type { Address, Neighbour, Route } from '../../kernel/route/objects.js';
import type { RouteEvent } from '../../kernel/route/port.js';
import { type Entries, isOverlayRoute, type keyOf, ROUTE_PROTOCOL } from './entries.js';

interface Ours {
  /** What the kernel was last given. */
  readonly known: ReadonlyMap<Family, Entries>;
  readonly clusterCidrs: readonly string[];
  /** This node's addresses between the nodes, without a prefix; and those of its devices, with theirs. */
  readonly nodeIps: ReadonlySet<string>;
  readonly deviceAddresses: ReadonlySet<string>;
}

type Event<T> = { readonly event: 'new' | 'delete'; readonly object: T };

/** Of links others decide: what of them matters depends on how they were. */
export function isDrift({ event, object }: Exclude<RouteEvent, { event: 'lost' }>, ours: Ours): boolean {
  switch (object.kind) {
    case 'address':
      return isAddressDrift({ event, object }, ours);
    case 'route':
      return isRouteDrift({ event, object }, ours);
    case 'neighbour':
      return isNeighbourDrift({ event, object }, ours);
    default:
      return false;
  }
}

/** With an address of the node its routes go, untold; when it is back they must come again. */
function isAddressDrift({ event, object: { address } }: Event<Address>, ours: Ours): boolean {
  if (ours.nodeIps.has(address.slice(0, address.indexOf('/')))) return true;
  return event === 'delete' && ours.deviceAddresses.has(address);
}

function isRouteDrift({ event, object }: Event<Route>, { known, clusterCidrs }: Ours): boolean {
  if (event === 'delete') return isOverlayRoute(object, clusterCidrs);
  const ours = find(known, `route ${object.destination}`);
  if (ours?.kind !== 'route') return false;
  return object.protocol !== ROUTE_PROTOCOL || object.gateway !== ours.gateway;
}

function isNeighbourDrift({ event, object }: Event<Neighbour>, { known }: Ours): boolean {
  const { family, address = '', mac, state } = object;
  if (family === 'bridge') {
    const isKnown = find(known, `forward ${mac} ${address}`) !== undefined;
    // The same device behind another address: ours was replaced. Asked only of what is not ours as it is.
    return event === 'delete' ? isKnown : !isKnown && hasMac(known, mac);
  }
  const ours = find(known, `neighbour ${address}`);
  if (ours?.kind !== 'neighbour') return false;
  return event === 'delete' || mac !== ours.mac || state !== 'permanent';
}

const hasMac = (known: Ours['known'], mac: string | undefined) =>
  [...known.values()].some((entries) =>
    [...entries.values()].some((entry) => entry.kind === 'neighbour' && entry.mac === mac),
  );
const find = (known: Ours['known'], key: ReturnType<typeof keyOf>) =>
  [...known.values()].map((entries) => entries.get(key)).find((entry) => entry !== undefined);
