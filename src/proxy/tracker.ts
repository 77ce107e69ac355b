// Keeps the state of the proxy current: recomputes only the service that an event was about.
// Guarantees: the state it hands out is a value; entries that did not change keep their identity.
import type { V1EndpointSlice, V1Service } from '../api/gen/types.js';
import { keyOf, type Stored } from '../api/object.js';
import { ENDPOINT_SLICES, SERVICES } from '../api/resources.js';
import type { Informer, Informers } from '../client/informer.js';
import { SERVICE_NAME_LABEL, servicePorts } from './servicePorts.js';
import type { ProxyState, ServicePort } from './state.js';

const BY_SERVICE = 'service';

export interface Tracker {
  state(): ProxyState;
  synced(): Promise<void>;
  stop(): void;
}

/** `onChange` is called after every change that alters the state. */
export function trackServices(informers: Informers, nodeName: string, onChange: () => void): Tracker {
  const services: Informer<V1Service> = informers.of(SERVICES);
  const slices: Informer<V1EndpointSlice> = informers.of(ENDPOINT_SLICES);
  const portsOf = new Map<string, readonly ServicePort[]>();
  let state: ProxyState | undefined;

  slices.index(BY_SERVICE, (slice) => [serviceOf(slice)]);
  const refresh = (key: string) => {
    const service = services.get(key);
    const before = portsOf.get(key) ?? [];
    const computed =
      service === undefined
        ? []
        : servicePorts({ service, slices: slices.byIndex(BY_SERVICE, key), nodeName });
    const after = computed.map((port) => before.find((old) => isSame(old, port)) ?? port);
    if (after.length === before.length && after.every((port) => before.includes(port))) return;
    if (after.length === 0) portsOf.delete(key);
    else portsOf.set(key, after);
    state = undefined;
    onChange();
  };
  const onService = (service: Stored<V1Service>) => refresh(keyOf(service.metadata));
  const onSlice = (slice: Stored<V1EndpointSlice>) => refresh(serviceOf(slice));
  const stops = [
    services.on({ added: onService, updated: onService, deleted: onService }),
    slices.on({ added: onSlice, updated: onSlice, deleted: onSlice }),
  ];
  return {
    state: () => {
      state ??= new Map([...portsOf.values()].flat().map((port) => [port.key, port]));
      return state;
    },
    synced: async () => {
      await Promise.all([services.synced(), slices.synced()]);
    },
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

function serviceOf(slice: Stored<V1EndpointSlice>): string {
  const { namespace, labels } = slice.metadata;
  return keyOf({ namespace, name: labels?.[SERVICE_NAME_LABEL] ?? '' });
}

/** Small plain values: their text is their identity. */
function isSame(a: ServicePort, b: ServicePort): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
