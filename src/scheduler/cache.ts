// The nodes with what their pods take, including pods that were given a node a moment ago and are not yet seen there.
// Guarantees: an assumed pod counts from the choice until it is seen bound, or forgotten; it never counts twice.
import type { V1Node, V1Pod } from '../api/gen/types.js';
import { keyOf, type Stored } from '../api/object.js';
import { NodeInfo } from './nodeInfo.js';
import { hasEnded, type PodInfo, podInfoOf } from './podInfo.js';

export class SchedulerCache {
  readonly #nodes = new Map<string, NodeInfo>();
  /** Which node each counted pod counts on. */
  readonly #placed = new Map<string, string>();
  readonly #assumed = new Set<string>();
  #known: readonly NodeInfo[] | undefined;

  /** The nodes that exist. A choice among them is made in one turn, so nothing moves under it. */
  nodes(): readonly NodeInfo[] {
    this.#known ??= [...this.#nodes.values()].filter(({ node }) => node !== undefined);
    return this.#known;
  }

  setNode(node: Stored<V1Node>): void {
    const info = this.#infoOf(node.metadata.name);
    if (info.node === undefined) this.#known = undefined;
    info.node = node;
  }

  removeNode(name: string): void {
    const info = this.#nodes.get(name);
    if (info === undefined) return;
    info.node = undefined;
    this.#known = undefined;
    this.#dropIfEmpty(info);
  }

  /** A pod as the apiserver has it, bound to a node. Ends the assumption. */
  setPod(pod: Stored<V1Pod>): void {
    const key = keyOf(pod.metadata);
    this.#assumed.delete(key);
    if (hasEnded(pod) || !pod.spec.nodeName) this.#displace(key);
    else this.#place(podInfoOf(pod), pod.spec.nodeName);
  }

  removePod(key: string): void {
    this.#assumed.delete(key);
    this.#displace(key);
  }

  assume(pod: PodInfo, nodeName: string): void {
    this.#assumed.add(pod.key);
    this.#place(pod, nodeName);
  }

  /** The binding failed. Does nothing once the pod was seen bound. */
  forget(key: string): void {
    if (this.#assumed.delete(key)) this.#displace(key);
  }

  isAssumed(key: string): boolean {
    return this.#assumed.has(key);
  }

  #place(pod: PodInfo, nodeName: string): void {
    if (this.#placed.get(pod.key) !== nodeName) this.#displace(pod.key);
    this.#placed.set(pod.key, nodeName);
    this.#infoOf(nodeName).add(pod);
  }

  #displace(key: string): void {
    const info = this.#nodes.get(this.#placed.get(key) ?? '');
    this.#placed.delete(key);
    if (info === undefined) return;
    info.remove(key);
    this.#dropIfEmpty(info);
  }

  #infoOf(name: string): NodeInfo {
    let info = this.#nodes.get(name);
    if (info === undefined) {
      info = new NodeInfo(name);
      this.#nodes.set(name, info);
    }
    return info;
  }

  #dropIfEmpty(info: NodeInfo): void {
    if (info.node === undefined && info.podCount === 0) this.#nodes.delete(info.name);
  }
}
