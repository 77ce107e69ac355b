// Pods that made room on a node and wait for it: their place is kept from pods that matter less.
// Guarantees: a pod has one nomination; pods of lower priority pass as if it were there already.
import type { PodInfo } from './podInfo.js';
import type { Snapshot } from './snapshot/snapshot.js';

export class Nominations {
  readonly #snapshot: Snapshot;
  readonly #byNode = new Map<string, Map<string, PodInfo>>();
  readonly #nodes = new Map<string, string>();

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  get size(): number {
    return this.#nodes.size;
  }

  set(pod: PodInfo, nodeName: string): void {
    this.remove(pod.key);
    this.#nodes.set(pod.key, nodeName);
    const pods = this.#byNode.get(nodeName) ?? new Map<string, PodInfo>();
    this.#byNode.set(nodeName, pods.set(pod.key, pod));
    this.#touch(nodeName);
  }

  remove(key: string): void {
    const node = this.#nodes.get(key);
    if (node === undefined) return;
    this.#nodes.delete(key);
    const pods = this.#byNode.get(node);
    pods?.delete(key);
    if (pods?.size === 0) this.#byNode.delete(node);
    this.#touch(node);
  }

  nodeOf(key: string): string | undefined {
    return this.#nodes.get(key);
  }

  on(nodeName: string): readonly PodInfo[] {
    return [...(this.#byNode.get(nodeName)?.values() ?? [])];
  }

  /** Those that a pod must leave room for on a node; undefined when there are none. */
  beside(pod: PodInfo, slot: number): readonly PodInfo[] | undefined {
    if (this.#nodes.size === 0) return undefined;
    const pods = this.#byNode.get(this.#snapshot.table.names[slot] ?? '');
    if (pods === undefined) return undefined;
    const others = [...pods.values()].filter(
      ({ key, priority }) =>
        key !== pod.key && priority >= pod.priority && !this.#snapshot.table.pods[slot]?.has(key),
    );
    return others.length === 0 ? undefined : others;
  }

  #touch(nodeName: string): void {
    const { table } = this.#snapshot;
    const slot = table.slotOf(nodeName);
    if (slot !== undefined) table.touch(slot);
  }
}
