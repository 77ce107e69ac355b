// EndpointSlices for Endpoints that people write themselves, so that proxies need to read only slices. Pure.
// Guarantees: at most 100 endpoints a slice and 1000 a subset; slices that say the right thing are left alone.
import { SERVICE_NAME_LABEL } from '../../api/endpointSlice.js';
import type {
  V1Endpoint,
  V1EndpointSlice,
  V1EndpointSubset,
  V1Endpoints,
  V1Service,
} from '../../api/gen/types.js';
import { type Family, parseIp } from '../../api/ip.js';
import { sameMeaning } from '../../api/meaning.js';
import type { Stored } from '../../api/object.js';
import { ENDPOINTS } from '../../api/resources.js';
import { controllerReference } from '../claim.js';
import { groupKey } from '../endpointSlice/endpoints.js';
import { MANAGED_BY, type Slice, type SliceAction } from '../endpointSlice/plan.js';

export const MIRROR = 'endpointslicemirroring-controller.k8s.io';
const SKIP = 'endpointslice.kubernetes.io/skip-mirror';
const LEADER = 'control-plane.alpha.kubernetes.io/leader';
/** They describe the Endpoints themselves. */
const OWN_ANNOTATIONS = new Set([
  'endpoints.kubernetes.io/last-change-trigger-time',
  'kubectl.kubernetes.io/last-applied-configuration',
]);
const MAX_A_SLICE = 100;
const MAX_A_SUBSET = 1000;

type Endpoints = Stored<V1Endpoints>;

interface MirrorObserved {
  readonly endpoints: Endpoints | undefined;
  readonly service: Stored<V1Service> | undefined;
  /** Those that this controller manages for the name. */
  readonly slices: readonly Slice[];
}

export function isMirrored({ endpoints, service }: Omit<MirrorObserved, 'slices'>): boolean {
  if (endpoints === undefined || service === undefined) return false;
  const { labels = {}, annotations = {}, deletionTimestamp } = endpoints.metadata;
  if (deletionTimestamp !== undefined || labels[SKIP] === 'true' || annotations[LEADER] !== undefined)
    return false;
  // With a selector the slices come from the pods.
  return Object.keys(service.spec.selector ?? {}).length === 0;
}

export function planMirror({ endpoints, service, slices }: MirrorObserved): SliceAction[] {
  if (endpoints === undefined || !isMirrored({ endpoints, service }))
    return slices.map((slice) => ({ do: 'delete', slice }));
  const spare = [...slices].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const actions = (endpoints.subsets ?? [])
    .flatMap((subset) => slicesOf(endpoints, subset))
    .map((wanted): SliceAction | undefined => {
      const key = groupKey(wanted.addressType, wanted.ports ?? []);
      const at = spare.findIndex((slice) => groupKey(slice.addressType, slice.ports ?? []) === key);
      const slice = at === -1 ? undefined : spare.splice(at, 1)[0];
      if (slice === undefined) return { do: 'create', slice: wanted };
      const labels = wanted.metadata?.labels ?? {};
      if (
        sameMeaning('[]V1Endpoint', slice.endpoints, wanted.endpoints) &&
        sameMeaning('{}s', slice.metadata.labels, labels)
      )
        return undefined;
      return {
        do: 'update',
        slice: { ...slice, endpoints: wanted.endpoints, metadata: { ...slice.metadata, labels } },
      };
    })
    .filter((action) => action !== undefined);
  return [...actions, ...spare.map((slice): SliceAction => ({ do: 'delete', slice }))];
}

function slicesOf(endpoints: Endpoints, subset: V1EndpointSubset): V1EndpointSlice[] {
  const all = [
    ...(subset.addresses ?? []).map((address) => ({ address, ready: true })),
    ...(subset.notReadyAddresses ?? []).map((address) => ({ address, ready: false })),
  ].slice(0, MAX_A_SUBSET);
  return (['IPv4', 'IPv6'] as const).flatMap((family) => {
    const own = all
      .filter(({ address }) => parseIp(address.ip)?.family === family)
      .map(({ address, ready }): V1Endpoint => {
        const { ip, hostname, nodeName, targetRef } = address;
        return {
          addresses: [ip],
          conditions: { ready },
          ...(hostname === undefined ? {} : { hostname }),
          ...(nodeName === undefined ? {} : { nodeName }),
          ...(targetRef === undefined ? {} : { targetRef }),
        };
      });
    const chunks: V1EndpointSlice[] = [];
    for (let at = 0; at < own.length; at += MAX_A_SLICE)
      chunks.push(sliceOf(endpoints, subset, family, own.slice(at, at + MAX_A_SLICE)));
    return chunks;
  });
}

function sliceOf(
  endpoints: Endpoints,
  subset: V1EndpointSubset,
  addressType: Family,
  members: readonly V1Endpoint[],
): V1EndpointSlice {
  const { name, namespace, labels, annotations = {} } = endpoints.metadata;
  const handedOn = Object.entries(annotations).filter(([key]) => !OWN_ANNOTATIONS.has(key));
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      generateName: `${name}-`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, [SERVICE_NAME_LABEL]: name, [MANAGED_BY]: MIRROR },
      ...(handedOn.length === 0 ? {} : { annotations: Object.fromEntries(handedOn) }),
      ownerReferences: [controllerReference(ENDPOINTS, endpoints)],
    },
    addressType,
    endpoints: members,
    // A slice's port has a name, if an empty one.
    ports: (subset.ports ?? []).map(({ name: portName = '', port, protocol = 'TCP', appProtocol }) => ({
      name: portName,
      port,
      protocol,
      ...(appProtocol === undefined ? {} : { appProtocol }),
    })),
  };
}
