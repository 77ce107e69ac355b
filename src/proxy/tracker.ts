// Keeps the state of the proxy current: recomputes only the service that an event was about.
// Guarantees: entries that did not change keep their identity; a change is in `changed` until it is taken.

import type { ProxyState, ServicePort } from '../../proxy-modes/mode.js';
import { serviceKeyOf } from '../api/endpointSlice.js';
import type { V1EndpointSlice, V1Node, V1Service } from '../api/gen/types.js';
import { formatCidr, parseCidr } from '../api/ip.js';
import { keyOf, type Stored } from '../api/object.js';
import { ENDPOINT_SLICES, NODES, SERVICE_CIDRS, SERVICES } from '../api/resources.js';
import type { Informer, Informers } from '../client/informer.js';
import { Claims } from './claims.js';
import { countLocalReady, type NodeTopology } from './endpoints.js';
import { healthCheckNodePort, isOurs, isProxied, servicePorts } from './servicePorts.js';

const BY_SERVICE = 'service';
/** Written by the endpoint slice controller: the change of a pod or service that led to the slice. */
const TRIGGER_ANNOTATION = 'endpoints.kubernetes.io/last-change-trigger-time';
/** More than a sync can tell; what is older than the proxy says nothing of it. */
const MOST_TRIGGERS = 1000;
const ZONE_LABEL = 'topology.kubernetes.io/zone';

/** What the health check of a service tells. */
export interface ServiceHealth {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly localEndpoints: number;
}

export interface Tracker {
  /** The same map at every call, as it is now. */
  readonly state: ProxyState;
  /** The ranges of services, in order. Empty where the API server has no such kind. */
  readonly serviceCidrs: readonly string[];
  /** The keys that changed since the last call. */
  takeChanged(): Set<string>;
  /** Counts these keys as changed. */
  touch(keys: Iterable<string>): void;
  /** When the endpoints that changed since the last call were meant to change, in milliseconds since 1970. */
  takeTriggers(): number[];
  /** Services with a health check of their own, by key. */
  readonly health: ReadonlyMap<string, ServiceHealth>;
  /** This node, once it is known. */
  node(): Stored<V1Node> | undefined;
  synced(): Promise<void>;
  stop(): void;
}

interface TrackerOptions {
  readonly informers: Informers;
  readonly nodeName: string;
  /** Called after every change that alters the state. */
  onChange(): void;
}

export function trackServices({ informers, nodeName, onChange }: TrackerOptions): Tracker {
  const services: Informer<V1Service> = informers.of(SERVICES);
  const slices: Informer<V1EndpointSlice> = informers.of(ENDPOINT_SLICES);
  const nodes: Informer<V1Node> = informers.of(NODES, { fieldSelector: `metadata.name=${nodeName}` });
  const ranges = informers.of(SERVICE_CIDRS);
  const claims = new Claims();
  const portsOf = new Map<string, readonly ServicePort[]>();
  const state = new Map<string, ServicePort>();
  const health = new Map<string, ServiceHealth>();
  const startedAt = Date.now();
  let triggers: number[] = [];
  let changed = new Set<string>();
  let topology: NodeTopology = { name: nodeName };
  let serviceCidrs: readonly string[] = [];

  slices.index(BY_SERVICE, (slice) => [serviceKeyOf(slice)]);
  const grant = (keys: ReadonlySet<string>) => {
    for (const key of keys) {
      const port = claims.granted(key);
      if (port === state.get(key)) continue;
      if (port === undefined) state.delete(key);
      else state.set(key, port);
      changed.add(key);
    }
  };
  const refresh = (key: string) => {
    const service = services.get(key);
    const own = slices.byIndex(BY_SERVICE, key).filter(isOurs);
    const before = portsOf.get(key) ?? [];
    const computed = service === undefined ? [] : servicePorts({ service, slices: own, node: topology });
    const after = computed.map((port) => before.find((old) => isSame(old, port)) ?? port);
    if (after.length === 0) portsOf.delete(key);
    else portsOf.set(key, after);
    const kept = new Set(after);
    for (const port of before) if (!kept.has(port)) grant(claims.set(port.key, undefined));
    const known = new Set(before);
    for (const port of after) if (!known.has(port)) grant(claims.set(port.key, port));
    return refreshHealth(key, service, own);
  };
  const refreshHealth = (
    key: string,
    service: Stored<V1Service> | undefined,
    own: readonly Stored<V1EndpointSlice>[],
  ): boolean => {
    const port = service !== undefined && isProxied(service) ? healthCheckNodePort(service) : undefined;
    const before = health.get(key);
    if (port === undefined || service === undefined) return health.delete(key);
    const endpoints = own.flatMap((slice) => slice.endpoints ?? []);
    const localEndpoints = countLocalReady(endpoints, nodeName);
    const { namespace = '', name } = service.metadata;
    health.set(key, { namespace, name, port, localEndpoints });
    return before?.port !== port || before.localEndpoints !== localEndpoints;
  };
  const refreshAll = (keys: Iterable<string>) => {
    let told = false;
    for (const key of keys) told = refresh(key) || told;
    if (told || changed.size > 0) onChange();
  };
  const onService = (service: Stored<V1Service>) => refreshAll([keyOf(service.metadata)]);
  const onSlice = (slice: Stored<V1EndpointSlice>) => {
    const trigger = Date.parse(slice.metadata.annotations?.[TRIGGER_ANNOTATION] ?? '');
    if (trigger >= startedAt && triggers.length < MOST_TRIGGERS) triggers.push(trigger);
    refreshAll([serviceKeyOf(slice)]);
  };
  const onNode = (node: Stored<V1Node>) => {
    if (node.metadata.name !== nodeName) return;
    const zone = node.metadata.labels?.[ZONE_LABEL];
    if (zone === topology.zone) return;
    topology = { name: nodeName, ...(zone === undefined ? {} : { zone }) };
    refreshAll(services.list().map(({ metadata }) => keyOf(metadata)));
  };
  const onRange = () => {
    const texts = ranges.list().flatMap(({ spec }) => spec.cidrs ?? []);
    const now = [...new Set(texts.flatMap((text) => parseCidr(text) ?? []).map(formatCidr))].sort();
    if (now.join() === serviceCidrs.join()) return;
    serviceCidrs = now;
    onChange();
  };
  const stops = [
    ranges.on({ added: onRange, updated: onRange, deleted: onRange }),
    nodes.on({ added: onNode, updated: onNode }),
    services.on({ added: onService, updated: onService, deleted: onService }),
    slices.on({
      added: onSlice,
      updated: (slice, previous) => {
        onSlice(slice);
        // Somebody may hang a slice from one service to another.
        if (serviceKeyOf(previous) !== serviceKeyOf(slice)) onSlice(previous);
      },
      deleted: onSlice,
    }),
  ];
  return {
    state,
    get serviceCidrs() {
      return serviceCidrs;
    },
    takeChanged: () => {
      const taken = changed;
      changed = new Set();
      return taken;
    },
    touch: (keys) => {
      for (const key of keys) changed.add(key);
    },
    takeTriggers: () => {
      const taken = triggers;
      triggers = [];
      return taken;
    },
    health,
    node: () => nodes.get(nodeName),
    synced: async () => {
      await Promise.all([services.synced(), slices.synced(), nodes.synced()]);
    },
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}

/** Small plain values: their text is their identity. */
function isSame(a: ServicePort, b: ServicePort): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
