// A Service's endpoints in the older form, one v1 Endpoints object. Pure.
// Guarantees: at most 1000 addresses, ready ones first; the same pods always give the same object.
import type { V1EndpointAddress, V1EndpointSubset, V1Endpoints } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { sameJson } from '../../api/ownKeys.js';
import {
  addressesOf,
  familiesOf,
  groupKey,
  hostnameOf,
  portsOf,
  type Service,
} from '../endpointSlice/endpoints.js';
import { TRIGGER_TIME } from '../endpointSlice/triggerTime.js';
import { isFinished, isReady, isTerminating, type Pod } from '../pods.js';

const HEADLESS = 'service.kubernetes.io/headless';
const MANAGED_BY = 'endpoints.kubernetes.io/managed-by';
const MANAGER = 'endpoint-controller';
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';
const TRUNCATED = 'truncated';
const MAX_ADDRESSES = 1000;

interface EndpointsObserved {
  readonly service: Service;
  readonly pods: readonly Pod[];
  readonly present: Stored<V1Endpoints> | undefined;
  /** When the change happened that is written now. */
  readonly triggerTime?: string | undefined;
}

type EndpointsAction = { readonly do: 'create' | 'update'; readonly endpoints: V1Endpoints };

export function planEndpoints(observed: EndpointsObserved): EndpointsAction[] {
  const { service, pods, present, triggerTime } = observed;
  const { subsets, truncated } = capped(subsetsOf(service, pods));
  const { [HEADLESS]: _, ...own } = service.metadata.labels ?? {};
  const headless = service.spec.clusterIP === 'None' ? { [HEADLESS]: '' } : {};
  const labels = { ...own, ...headless, [MANAGED_BY]: MANAGER };
  const { [OVER_CAPACITY]: full, [TRIGGER_TIME]: __, ...kept } = present?.metadata.annotations ?? {};
  if (
    present !== undefined &&
    sameJson(present.subsets ?? [], subsets) &&
    sameJson(present.metadata.labels ?? {}, labels) &&
    full === (truncated ? TRUNCATED : undefined)
  )
    return [];
  const annotations = {
    ...kept,
    ...(truncated ? { [OVER_CAPACITY]: TRUNCATED } : {}),
    // A write that answers no change we know of has no time to tell.
    ...(triggerTime === undefined ? {} : { [TRIGGER_TIME]: triggerTime }),
  };
  const { name, namespace } = service.metadata;
  const metadata = {
    ...(present?.metadata ?? { name, ...(namespace === undefined ? {} : { namespace }) }),
    labels,
    annotations,
  };
  const endpoints: V1Endpoints = { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets };
  return [{ do: present === undefined ? 'create' : 'update', endpoints }];
}

export function isManaged({ metadata }: Stored<V1Endpoints>): boolean {
  return metadata.labels?.[MANAGED_BY] === MANAGER;
}

function subsetsOf(service: Service, pods: readonly Pod[]): V1EndpointSubset[] {
  const unready = service.spec.publishNotReadyAddresses === true;
  const [family = 'IPv4'] = familiesOf(service);
  const subsets = new Map<
    string,
    { ready: V1EndpointAddress[]; notReady: V1EndpointAddress[]; ports: V1EndpointSubset['ports'] }
  >();
  for (const pod of pods) {
    const [ip] = addressesOf(pod, family);
    if (ip === undefined || isFinished(pod) || (isTerminating(pod) && !unready)) continue;
    const ports = portsOf(service, pod);
    if (ports.length === 0 && (service.spec.ports ?? []).length > 0) continue;
    const key = groupKey(family, ports);
    const subset = subsets.get(key) ?? { ready: [], notReady: [], ports: ports.map(withPort) };
    subsets.set(key, subset);
    (unready || isReady(pod) ? subset.ready : subset.notReady).push(addressOf(service, pod, ip));
  }
  return [...subsets]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { ready, notReady, ports = [] }]) => ({
      ...(ready.length === 0 ? {} : { addresses: ready.sort(byIp) }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady.sort(byIp) }),
      ...(ports.length === 0 ? {} : { ports }),
    }));
}

function withPort({ name, port = 0, ...rest }: ReturnType<typeof portsOf>[number]) {
  return { ...(name ? { name } : {}), port, ...rest };
}

const byIp = (a: V1EndpointAddress, b: V1EndpointAddress) => (a.ip < b.ip ? -1 : a.ip > b.ip ? 1 : 0);

function addressOf(service: Service, pod: Pod, ip: string): V1EndpointAddress {
  const { name, namespace, uid } = pod.metadata;
  const hostname = hostnameOf(service, pod);
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
    targetRef: { kind: 'Pod', ...(namespace === undefined ? {} : { namespace }), name, uid },
  };
}

/** Ready addresses are kept before those that are not. */
function capped(subsets: readonly V1EndpointSubset[]): { subsets: V1EndpointSubset[]; truncated: boolean } {
  const count = (of: 'addresses' | 'notReadyAddresses') =>
    subsets.reduce((total, subset) => total + (subset[of]?.length ?? 0), 0);
  if (count('addresses') + count('notReadyAddresses') <= MAX_ADDRESSES)
    return { subsets: [...subsets], truncated: false };
  let readyLeft = MAX_ADDRESSES;
  let restLeft = Math.max(0, MAX_ADDRESSES - count('addresses'));
  const cut = subsets.map(({ addresses = [], notReadyAddresses = [], ports }) => {
    const ready = addresses.slice(0, readyLeft);
    const rest = notReadyAddresses.slice(0, restLeft);
    readyLeft -= ready.length;
    restLeft -= rest.length;
    return {
      ...(ready.length === 0 ? {} : { addresses: ready }),
      ...(rest.length === 0 ? {} : { notReadyAddresses: rest }),
      ...(ports === undefined ? {} : { ports }),
    };
  });
  return {
    subsets: cut.filter((subset) => 'addresses' in subset || 'notReadyAddresses' in subset),
    truncated: true,
  };
}
