// Which EndpointSlices to create, change and delete so that a Service's endpoints are written down. Pure.
// Guarantees: at most 100 endpoints a slice; an endpoint stays in its slice; as few slices change as can be.
import { SERVICE_NAME_LABEL } from '../../api/endpointSlice.js';
import type { V1Endpoint, V1EndpointSlice } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import { SERVICES } from '../../api/resources.js';
import { controllerReference } from '../claim.js';
import {
  type EndpointGroup,
  endpointGroups,
  familiesOf,
  groupKey,
  type ServiceObserved,
} from './endpoints.js';
import { TRIGGER_TIME } from './triggerTime.js';

export const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
export const MANAGER = 'endpointslice-controller.k8s.io';
const HEADLESS = 'service.kubernetes.io/headless';
const MAX_ENDPOINTS = 100;

export type Slice = Stored<V1EndpointSlice>;

interface SlicesObserved extends ServiceObserved {
  /** The slices that this controller manages for the Service. */
  readonly slices: readonly Slice[];
  /** When the change happened that is written now. */
  readonly triggerTime?: string | undefined;
}

export type SliceAction =
  | { readonly do: 'create'; readonly slice: V1EndpointSlice }
  | { readonly do: 'update'; readonly slice: Slice }
  | { readonly do: 'delete'; readonly slice: Slice };

export function planEndpointSlices(observed: SlicesObserved): SliceAction[] {
  const groups = [...endpointGroups(observed)];
  // A Service without endpoints still has one empty slice a family: it says "none" instead of saying nothing.
  for (const addressType of familiesOf(observed.service))
    if (!groups.some((group) => group.addressType === addressType))
      groups.push({ addressType, ports: [], endpoints: [] });
  const taken = new Set<Slice>();
  const actions = groups.flatMap((group) => {
    const key = groupKey(group.addressType, group.ports);
    const mine = observed.slices.filter(
      (slice) => !taken.has(slice) && groupKey(slice.addressType, slice.ports ?? []) === key,
    );
    for (const slice of mine) taken.add(slice);
    return planGroup(observed, group, mine);
  });
  const surplus = observed.slices.filter((slice) => !taken.has(slice));
  return reuse(observed, actions, surplus);
}

interface Filling {
  readonly slice: Slice;
  readonly endpoints: V1Endpoint[];
  changed: boolean;
}

function planGroup(observed: SlicesObserved, group: EndpointGroup, slices: readonly Slice[]): SliceAction[] {
  const wanted = new Map(group.endpoints.map((endpoint) => [identityOf(endpoint), endpoint]));
  const labels = labelsOf(observed);
  const fillings = slices.map((slice): Filling => {
    const kept: V1Endpoint[] = [];
    for (const endpoint of slice.endpoints ?? []) {
      const identity = identityOf(endpoint);
      const next = wanted.get(identity);
      if (next === undefined) continue;
      wanted.delete(identity);
      kept.push(next);
    }
    const changed = !sameJson(kept, slice.endpoints ?? []) || !sameJson(labels, slice.metadata.labels ?? {});
    return { slice, endpoints: kept, changed };
  });
  const homeless = placeInto(fillings, [...wanted.values()]);
  const actions: SliceAction[] = [];
  const isEmpty = fillings.every(({ endpoints }) => endpoints.length === 0) && homeless.length === 0;
  for (const [index, { slice, endpoints, changed }] of fillings.entries()) {
    const isLast = isEmpty && index === 0;
    if (endpoints.length === 0 && !isLast) actions.push({ do: 'delete', slice });
    else if (changed)
      actions.push({
        do: 'update',
        slice: { ...slice, endpoints, metadata: { ...triggered(slice.metadata, observed), labels } },
      });
  }
  for (let at = 0; at < homeless.length; at += MAX_ENDPOINTS)
    actions.push({ do: 'create', slice: makeSlice(observed, group, homeless.slice(at, at + MAX_ENDPOINTS)) });
  if (slices.length === 0 && homeless.length === 0)
    actions.push({ do: 'create', slice: makeSlice(observed, group, []) });
  return actions;
}

/** First where a write happens anyway, then into one slice with just enough room; returns what found no place. */
function placeInto(fillings: readonly Filling[], endpoints: V1Endpoint[]): V1Endpoint[] {
  const room = ({ endpoints: present }: Filling) => MAX_ENDPOINTS - present.length;
  const fill = (filling: Filling) => {
    filling.endpoints.push(...endpoints.splice(0, room(filling)));
    filling.changed = true;
  };
  for (const filling of fillings) if (filling.changed && endpoints.length > 0) fill(filling);
  // Whole new slices are made full; only the rest looks for room.
  const rest = endpoints.length % MAX_ENDPOINTS;
  if (rest === 0) return endpoints;
  const fitting = fillings.filter((filling) => room(filling) >= rest).sort((a, b) => room(a) - room(b))[0];
  if (fitting !== undefined) {
    fitting.endpoints.push(...endpoints.splice(endpoints.length - rest, rest));
    fitting.changed = true;
  }
  return endpoints;
}

/** A slice that is no longer needed takes the place of one to be made, where only its ports differ. */
function reuse(
  observed: SlicesObserved,
  actions: readonly SliceAction[],
  surplus: readonly Slice[],
): SliceAction[] {
  const spare = [...surplus];
  const result = actions.map((action): SliceAction => {
    if (action.do !== 'create') return action;
    const at = spare.findIndex(({ addressType }) => addressType === action.slice.addressType);
    const slice = spare.splice(at, at === -1 ? 0 : 1)[0];
    if (slice === undefined) return action;
    const { endpoints = [], ports = [] } = action.slice;
    const labels = action.slice.metadata?.labels ?? {};
    const metadata = { ...triggered(slice.metadata, observed), labels };
    return { do: 'update', slice: { ...slice, endpoints, ports, metadata } };
  });
  return [...result, ...spare.map((slice): SliceAction => ({ do: 'delete', slice }))];
}

/** A write that answers no change we know of has no time to tell. */
function triggered(metadata: Slice['metadata'], { triggerTime }: SlicesObserved): Slice['metadata'] {
  const { [TRIGGER_TIME]: _, ...others } = metadata.annotations ?? {};
  const annotations = triggerTime === undefined ? others : { ...others, [TRIGGER_TIME]: triggerTime };
  return { ...metadata, annotations };
}

function identityOf({ targetRef, addresses }: V1Endpoint): string {
  return `${targetRef?.uid ?? ''}/${addresses.join()}`;
}

function labelsOf({ service }: SlicesObserved): Readonly<Record<string, string>> {
  const headless = service.spec.clusterIP === 'None';
  const { [HEADLESS]: _, ...own } = service.metadata.labels ?? {};
  return {
    ...own,
    ...(headless ? { [HEADLESS]: '' } : {}),
    [SERVICE_NAME_LABEL]: service.metadata.name,
    [MANAGED_BY]: MANAGER,
  };
}

function makeSlice(
  observed: SlicesObserved,
  { addressType, ports }: EndpointGroup,
  endpoints: readonly V1Endpoint[],
): V1EndpointSlice {
  const { triggerTime } = observed;
  const { metadata } = observed.service;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      generateName: `${metadata.name}-`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels: labelsOf(observed),
      ...(triggerTime === undefined ? {} : { annotations: { [TRIGGER_TIME]: triggerTime } }),
      ownerReferences: [controllerReference(SERVICES, observed.service)],
    },
    addressType,
    endpoints,
    ports,
  };
}
