// A node and the sum of what its pods take, kept as pods come and go.
// Guarantees: adding and removing the same pod leaves the sums as they were; nothing is recomputed over all pods.
import type { V1Node } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import type { HostPort, PodInfo } from './podInfo.js';
import { type Amounts, offered } from './resources.js';

export class NodeInfo {
  readonly name: string;
  #node: Stored<V1Node> | undefined;
  #allocatable: Amounts = new Map();
  readonly #pods = new Map<string, PodInfo>();
  readonly #requested = new Map<string, number>();
  readonly presumed = { cpu: 0, memory: 0 };
  /** `protocol/port` to the addresses it is taken on, each with how many pods take it. */
  readonly #ports = new Map<string, Map<string, number>>();

  constructor(name: string) {
    this.name = name;
  }

  /** Absent while pods are bound to a node that is not known, or no longer. */
  get node(): Stored<V1Node> | undefined {
    return this.#node;
  }

  set node(node: Stored<V1Node> | undefined) {
    this.#node = node;
    this.#allocatable = offered(node?.status?.allocatable);
  }

  get podCount(): number {
    return this.#pods.size;
  }

  allocatable(resource: string): number {
    return this.#allocatable.get(resource) ?? 0;
  }

  requested(resource: string): number {
    return this.#requested.get(resource) ?? 0;
  }

  /** Replaces an earlier version of the same pod. */
  add(pod: PodInfo): void {
    this.remove(pod.key);
    this.#pods.set(pod.key, pod);
    this.#count(pod, 1);
  }

  remove(key: string): void {
    const pod = this.#pods.get(key);
    if (pod === undefined) return;
    this.#pods.delete(key);
    this.#count(pod, -1);
  }

  /** Whether a port is taken; the address 0.0.0.0 is every address. */
  hasPort({ ip, protocol, port }: HostPort): boolean {
    const taken = this.#ports.get(`${protocol}/${port}`);
    if (taken === undefined) return false;
    return ip === '0.0.0.0' || ip === '::' || taken.has(ip) || taken.has('0.0.0.0') || taken.has('::');
  }

  #count(pod: PodInfo, sign: 1 | -1): void {
    for (const [name, amount] of pod.requests) {
      const total = this.requested(name) + sign * amount;
      // An endless request, taken back, would leave NaN behind.
      if (Number.isFinite(amount)) this.#requested.set(name, total);
    }
    for (const name of ['cpu', 'memory'] as const)
      if (Number.isFinite(pod.presumed[name])) this.presumed[name] += sign * pod.presumed[name];
    for (const { ip, protocol, port } of pod.hostPorts) {
      const key = `${protocol}/${port}`;
      const taken = this.#ports.get(key) ?? new Map<string, number>();
      const count = (taken.get(ip) ?? 0) + sign;
      if (count > 0) taken.set(ip, count);
      else taken.delete(ip);
      if (taken.size > 0) this.#ports.set(key, taken);
      else this.#ports.delete(key);
    }
  }
}
