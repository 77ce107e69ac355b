// The nodes as columns of numbers, one slot a node, with what their pods take of each.
// Guarantees: adding and removing the same pod leaves every sum as it was; reading a node allocates nothing.
import type { V1Node } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { byImportance, type HostPort, type PodInfo } from '../podInfo.js';
import { type Amounts, COLUMNS, offered } from '../resources.js';

const NOTHING: Amounts = new Map();

export class NodeTable {
  /** One more than the highest slot in use. */
  size = 0;
  readonly #slots = new Map<string, number>();
  readonly #free: number[] = [];
  readonly names: string[] = [];
  readonly nodes: (Stored<V1Node> | undefined)[] = [];
  readonly offers: Amounts[] = [];
  readonly pods: Map<string, PodInfo>[] = [];
  /** The same pods, the most important first; made when asked for, until a pod comes or goes. */
  readonly #ranked: (readonly PodInfo[] | undefined)[] = [];
  /** Requests of resources without a column, by name. */
  readonly #others: Map<string, number>[] = [];
  /** `protocol/port` to the addresses it is taken on, each with how many pods take it. */
  readonly #ports: (Map<string, Map<string, number>> | undefined)[] = [];
  /** Changes with every change of the node, its pods or who is promised a place there; never the same again. */
  #versions = new Float64Array(64);
  #newest = 0;
  /** How many pods have each priority. */
  readonly #priorities = new Map<number, number>();
  exists = new Uint8Array(64);
  unschedulable = new Uint8Array(64);
  maxPods = new Float64Array(64);
  podCount = new Int32Array(64);
  allocatable = COLUMNS.map(() => new Float64Array(64));
  requested = COLUMNS.map(() => new Float64Array(64));
  /** CPU and memory with pods that ask for none counted as if they asked for a little. */
  presumed = [new Float64Array(64), new Float64Array(64)];

  slotOf(name: string): number | undefined {
    return this.#slots.get(name);
  }

  /** The slot of a name; a new one when there is none. */
  open(name: string): number {
    const known = this.#slots.get(name);
    if (known !== undefined) return known;
    const slot = this.#free.pop() ?? this.size++;
    if (slot >= this.exists.length) this.#grow(slot * 2);
    this.#slots.set(name, slot);
    this.names[slot] = name;
    this.nodes[slot] = undefined;
    this.offers[slot] = NOTHING;
    this.pods[slot] = new Map();
    this.#ranked[slot] = undefined;
    this.#others[slot] = new Map();
    this.#ports[slot] = undefined;
    for (const column of this.#columns()) column[slot] = 0;
    return slot;
  }

  version(slot: number): number {
    return this.#versions[slot] ?? 0;
  }

  /** Something about the node is no longer as it was. What-ifs, which are taken back, do not count. */
  touch(slot: number): void {
    this.#newest += 1;
    this.#versions[slot] = this.#newest;
  }

  /** Gives the slot back once it has neither a node nor pods. */
  closeIfEmpty(slot: number): void {
    if (this.exists[slot] === 1 || (this.pods[slot]?.size ?? 0) > 0) return;
    this.#slots.delete(this.names[slot] ?? '');
    this.names[slot] = '';
    this.#free.push(slot);
  }

  setNode(slot: number, node: Stored<V1Node> | undefined): void {
    const offer = offered(node?.status?.allocatable);
    this.nodes[slot] = node;
    this.offers[slot] = offer;
    this.exists[slot] = node === undefined ? 0 : 1;
    this.unschedulable[slot] = node?.spec?.unschedulable === true ? 1 : 0;
    this.maxPods[slot] = offer.get('pods') ?? 0;
    COLUMNS.forEach((name, at) => {
      put(this.allocatable[at], slot, offer.get(name) ?? 0);
    });
  }

  addPod(slot: number, pod: PodInfo): void {
    this.pods[slot]?.set(pod.key, pod);
    this.#ranked[slot] = undefined;
    this.#count(slot, pod, 1);
  }

  removePod(slot: number, pod: PodInfo): void {
    if (!this.pods[slot]?.delete(pod.key)) return;
    this.#ranked[slot] = undefined;
    this.#count(slot, pod, -1);
  }

  /** The same pod in a newer version; what it takes is as it was. */
  replacePod(slot: number, pod: PodInfo): void {
    this.pods[slot]?.set(pod.key, pod);
    this.#ranked[slot] = undefined;
  }

  /** The pods of a node, the most important first. */
  ranked(slot: number): readonly PodInfo[] {
    const known = this.#ranked[slot];
    if (known !== undefined) return known;
    const ranked = [...(this.pods[slot]?.values() ?? [])].sort(byImportance);
    this.#ranked[slot] = ranked;
    return ranked;
  }

  /** Adds or takes away only what a pod requests, for a what-if in which nothing else of it matters. */
  lend(slot: number, pod: PodInfo, sign: 1 | -1): void {
    add(this.podCount, slot, sign);
    this.#countRequests(slot, pod, sign);
  }

  offerOf(slot: number, resource: string): number {
    return this.offers[slot]?.get(resource) ?? 0;
  }

  requestedOf(slot: number, resource: string): number {
    const at = COLUMNS.indexOf(resource as never);
    return at === -1 ? (this.#others[slot]?.get(resource) ?? 0) : (this.requested[at]?.[slot] ?? 0);
  }

  /** Whether a port is taken; the address 0.0.0.0 is every address. */
  hasPort(slot: number, { ip, key }: HostPort): boolean {
    const taken = this.#ports[slot]?.get(key);
    if (taken === undefined) return false;
    return ip === '0.0.0.0' || ip === '::' || taken.has(ip) || taken.has('0.0.0.0') || taken.has('::');
  }

  /** Whether any pod anywhere matters less than this: if none does, nobody can be displaced. */
  hasPodsBelow(priority: number): boolean {
    for (const one of this.#priorities.keys()) if (one < priority) return true;
    return false;
  }

  #count(slot: number, pod: PodInfo, sign: 1 | -1): void {
    add(this.podCount, slot, sign);
    addTo(this.#priorities, pod.priority, sign);
    this.#countRequests(slot, pod, sign);
    if (Number.isFinite(pod.presumed.cpu)) add(this.presumed[0], slot, sign * pod.presumed.cpu);
    if (Number.isFinite(pod.presumed.memory)) add(this.presumed[1], slot, sign * pod.presumed.memory);
    for (const { ip, key } of pod.hostPorts) {
      const ports = this.#ports[slot] ?? new Map<string, Map<string, number>>();
      this.#ports[slot] = ports;
      const taken = ports.get(key) ?? new Map<string, number>();
      addTo(taken, ip, sign);
      if (taken.size > 0) ports.set(key, taken);
      else ports.delete(key);
    }
  }

  #countRequests(slot: number, { columns, otherRequests }: PodInfo, sign: 1 | -1): void {
    for (let at = 0; at < columns.length; at += 1) add(this.requested[at], slot, sign * (columns[at] ?? 0));
    for (const [name, amount] of otherRequests) addTo(this.#others[slot], name, sign * amount);
  }

  #columns(): (Uint8Array | Int32Array | Float64Array)[] {
    const { exists, unschedulable, maxPods, podCount } = this;
    return [
      exists,
      unschedulable,
      maxPods,
      podCount,
      ...this.allocatable,
      ...this.requested,
      ...this.presumed,
    ];
  }

  #grow(size: number): void {
    const grown = <T extends Uint8Array | Int32Array | Float64Array>(column: T): T => {
      const bigger = new (column.constructor as new (size: number) => T)(size);
      bigger.set(column);
      return bigger;
    };
    this.#versions = grown(this.#versions);
    this.exists = grown(this.exists);
    this.unschedulable = grown(this.unschedulable);
    this.maxPods = grown(this.maxPods);
    this.podCount = grown(this.podCount);
    this.allocatable = this.allocatable.map(grown);
    this.requested = this.requested.map(grown);
    this.presumed = this.presumed.map(grown);
  }
}

function put(column: Float64Array | undefined, slot: number, value: number): void {
  if (column !== undefined) column[slot] = value;
}

function add(column: Float64Array | Int32Array | undefined, slot: number, amount: number): void {
  if (column !== undefined) column[slot] = (column[slot] ?? 0) + amount;
}

/** A sum that has come back to zero leaves no trace. */
function addTo<K>(sums: Map<K, number> | undefined, key: K, amount: number): void {
  const sum = (sums?.get(key) ?? 0) + amount;
  if (sum === 0) sums?.delete(key);
  else sums?.set(key, sum);
}
