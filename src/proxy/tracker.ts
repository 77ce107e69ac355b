// Keeps the state of the proxy current: recomputes only the service that an event was about.
// Guarantees: entries that did not change keep their identity; a change is in `changed` until it is taken.

import type { ProxyState, ServicePort } from '../../proxy-modes/mode.js';
import { serviceKeyOf } from '../api/endpointSlice.js';
import type { V1EndpointSlice, V1Node, V1Service, V1ServiceCIDR } from '../api/gen/types.js';
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

interface TrackerOptions {
  readonly informers: Informers;
  readonly nodeName: string;
  /** Called after every change that alters the state. */
  onChange(): void;
}

export class Tracker {
  /** The same map at every call, as it is now. */
  readonly state: ProxyState;
  /** Services with a health check of their own, by key. */
  readonly health: ReadonlyMap<string, ServiceHealth>;
  readonly #state = new Map<string, ServicePort>();
  readonly #health = new Map<string, ServiceHealth>();
  readonly #portsOf = new Map<string, readonly ServicePort[]>();
  readonly #claims = new Claims();
  readonly #services: Informer<V1Service>;
  readonly #slices: Informer<V1EndpointSlice>;
  readonly #nodes: Informer<V1Node>;
  readonly #ranges: Informer<V1ServiceCIDR>;
  readonly #nodeName: string;
  readonly #onChange: () => void;
  readonly #startedAt = Date.now();
  readonly #stops: readonly (() => void)[];
  #triggers: number[] = [];
  #changed = new Set<string>();
  #topology: NodeTopology;
  #serviceCidrs: readonly string[] = [];

  constructor({ informers, nodeName, onChange }: TrackerOptions) {
    this.state = this.#state;
    this.health = this.#health;
    this.#nodeName = nodeName;
    this.#topology = { name: nodeName };
    this.#onChange = onChange;
    this.#services = informers.of(SERVICES);
    this.#slices = informers.of(ENDPOINT_SLICES);
    this.#nodes = informers.of(NODES, { fieldSelector: `metadata.name=${nodeName}` });
    this.#ranges = informers.of(SERVICE_CIDRS);
    this.#slices.index(BY_SERVICE, (slice) => [serviceKeyOf(slice)]);
    this.#stops = this.#listen();
  }

  /** The ranges of services, in order. Empty where the API server has no such kind. */
  get serviceCidrs(): readonly string[] {
    return this.#serviceCidrs;
  }

  /** The keys that changed since the last call. */
  takeChanged(): Set<string> {
    const taken = this.#changed;
    this.#changed = new Set();
    return taken;
  }

  /** Counts these keys as changed. */
  touch(keys: Iterable<string>): void {
    for (const key of keys) this.#changed.add(key);
  }

  /** When the endpoints that changed since the last call were meant to change, in milliseconds since 1970. */
  takeTriggers(): number[] {
    const taken = this.#triggers;
    this.#triggers = [];
    return taken;
  }

  /** This node, once it is known. */
  node(): Stored<V1Node> | undefined {
    return this.#nodes.get(this.#nodeName);
  }

  async synced(): Promise<void> {
    await Promise.all([this.#services.synced(), this.#slices.synced(), this.#nodes.synced()]);
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #listen(): readonly (() => void)[] {
    const onRange = () => this.#onRange();
    const onNode = (node: Stored<V1Node>) => this.#onNode(node);
    const onService = (service: Stored<V1Service>) => this.#refreshAll([keyOf(service.metadata)]);
    const onSlice = (slice: Stored<V1EndpointSlice>) => this.#onSlice(slice);
    return [
      this.#ranges.on({ added: onRange, updated: onRange, deleted: onRange }),
      this.#nodes.on({ added: onNode, updated: onNode }),
      this.#services.on({ added: onService, updated: onService, deleted: onService }),
      this.#slices.on({
        added: onSlice,
        updated: (slice, previous) => {
          onSlice(slice);
          // Somebody may hang a slice from one service to another.
          if (serviceKeyOf(previous) !== serviceKeyOf(slice)) onSlice(previous);
        },
        deleted: onSlice,
      }),
    ];
  }

  #onSlice(slice: Stored<V1EndpointSlice>): void {
    const trigger = Date.parse(slice.metadata.annotations?.[TRIGGER_ANNOTATION] ?? '');
    if (trigger >= this.#startedAt && this.#triggers.length < MOST_TRIGGERS) this.#triggers.push(trigger);
    this.#refreshAll([serviceKeyOf(slice)]);
  }

  #onNode(node: Stored<V1Node>): void {
    if (node.metadata.name !== this.#nodeName) return;
    const zone = node.metadata.labels?.[ZONE_LABEL];
    if (zone === this.#topology.zone) return;
    this.#topology = { name: this.#nodeName, ...(zone === undefined ? {} : { zone }) };
    this.#refreshAll(this.#services.list().map(({ metadata }) => keyOf(metadata)));
  }

  #onRange(): void {
    const texts = this.#ranges.list().flatMap(({ spec }) => spec.cidrs ?? []);
    const now = [...new Set(texts.flatMap((text) => parseCidr(text) ?? []).map(formatCidr))].sort();
    if (now.join() === this.#serviceCidrs.join()) return;
    this.#serviceCidrs = now;
    this.#onChange();
  }

  #refreshAll(keys: Iterable<string>): void {
    let told = false;
    for (const key of keys) told = this.#refresh(key) || told;
    if (told || this.#changed.size > 0) this.#onChange();
  }

  #refresh(key: string): boolean {
    const service = this.#services.get(key);
    const slices = this.#slices.byIndex(BY_SERVICE, key).filter(isOurs);
    const before = this.#portsOf.get(key) ?? [];
    const computed = service === undefined ? [] : servicePorts({ service, slices, node: this.#topology });
    const after = computed.map((port) => before.find((old) => isSame(old, port)) ?? port);
    if (after.length === 0) this.#portsOf.delete(key);
    else this.#portsOf.set(key, after);
    const kept = new Set(after);
    for (const port of before) if (!kept.has(port)) this.#grant(this.#claims.set(port.key, undefined));
    const known = new Set(before);
    for (const port of after) if (!known.has(port)) this.#grant(this.#claims.set(port.key, port));
    return this.#refreshHealth(key, service, slices);
  }

  #grant(keys: ReadonlySet<string>): void {
    for (const key of keys) {
      const port = this.#claims.granted(key);
      if (port === this.#state.get(key)) continue;
      if (port === undefined) this.#state.delete(key);
      else this.#state.set(key, port);
      this.#changed.add(key);
    }
  }

  #refreshHealth(
    key: string,
    service: Stored<V1Service> | undefined,
    slices: readonly Stored<V1EndpointSlice>[],
  ): boolean {
    const port = service !== undefined && isProxied(service) ? healthCheckNodePort(service) : undefined;
    const before = this.#health.get(key);
    if (port === undefined || service === undefined) return this.#health.delete(key);
    const endpoints = slices.flatMap((slice) => slice.endpoints ?? []);
    const localEndpoints = countLocalReady(endpoints, this.#nodeName);
    const { namespace = '', name } = service.metadata;
    this.#health.set(key, { namespace, name, port, localEndpoints });
    return before?.port !== port || before.localEndpoints !== localEndpoints;
  }
}

/** Small plain values: their text is their identity. */
function isSame(a: ServicePort, b: ServicePort): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
