// The cluster as the choice of a node sees it: nodes, what their pods take, who matches whom.
// Guarantees: an assumed pod counts from the choice until it is seen bound, forgotten or expired; no pod counts twice.
import type { V1Node, V1Pod } from '../../api/gen/types.js';
import { keyOf, type Stored } from '../../api/object.js';
import { hasEnded, type PodInfo, podInfoOf } from '../podInfo.js';
import { type Catalog, emptyCatalog } from './catalog.js';
import { ImageTable } from './imageTable.js';
import { LabelColumns } from './labelColumns.js';
import { interleaved, zoneOf } from './nodeOrder.js';
import { NodeTable } from './nodeTable.js';
import { PodClasses } from './podClasses.js';
import { TaintSets } from './taintSets.js';

export class Snapshot {
  readonly table = new NodeTable();
  readonly labels = new LabelColumns(this.table);
  readonly taints = new TaintSets();
  readonly images = new ImageTable();
  readonly classes = new PodClasses();
  catalog: Catalog = emptyCatalog;
  /** Volumes promised to claims (by uid) and not yet seen bound. */
  readonly reservedVolumes = new Map<string, string>();
  /** Where each counted pod counts. */
  readonly #placed = new Map<string, { readonly pod: PodInfo; readonly slot: number }>();
  /** Assumed pods, and when to give up on those whose binding was answered but never seen. */
  readonly #assumed = new Map<string, number>();
  #order: Int32Array | undefined;

  /** The slots of the nodes that exist, in the order to look at them. */
  order(): Int32Array {
    this.#order ??= interleaved(this.table);
    return this.#order;
  }

  get nodeCount(): number {
    return this.order().length;
  }

  get podCount(): number {
    return this.#placed.size;
  }

  get assumedCount(): number {
    return this.#assumed.size;
  }

  setNode(node: Stored<V1Node>): void {
    const slot = this.table.open(node.metadata.name);
    const before = this.table.nodes[slot];
    if (before === undefined || zoneOf(before.metadata.labels) !== zoneOf(node.metadata.labels))
      this.#order = undefined;
    this.#change(slot, node);
  }

  removeNode(name: string): void {
    const slot = this.table.slotOf(name);
    if (slot === undefined) return;
    this.#order = undefined;
    this.#change(slot, undefined);
    this.table.closeIfEmpty(slot);
  }

  #change(slot: number, node: Stored<V1Node> | undefined): void {
    this.table.touch(slot);
    this.table.setNode(slot, node);
    this.labels.nodeChanged(slot);
    this.taints.nodeChanged(slot, node?.spec?.taints);
    this.images.nodeChanged(slot, node?.status?.images);
  }

  /** A pod as the apiserver has it, bound to a node. Ends the assumption. */
  setPod(pod: Stored<V1Pod>): void {
    const key = keyOf(pod.metadata);
    this.#assumed.delete(key);
    this.#leave(key);
    if (!hasEnded(pod) && pod.spec.nodeName) this.#enter(podInfoOf(pod), pod.spec.nodeName);
  }

  /** A newer version of a bound pod that counts as the last one did. False when it does not count yet. */
  refreshPod(pod: Stored<V1Pod>): boolean {
    const key = keyOf(pod.metadata);
    const found = this.#placed.get(key);
    if (found === undefined || this.#assumed.has(key) || found.pod.pod.metadata.uid !== pod.metadata.uid)
      return false;
    const fresh = { ...found.pod, pod, spec: pod.spec };
    this.#placed.set(key, { pod: fresh, slot: found.slot });
    this.table.touch(found.slot);
    this.table.replacePod(found.slot, fresh);
    return true;
  }

  removePod(key: string): void {
    this.#assumed.delete(key);
    this.#leave(key);
  }

  assume(pod: PodInfo, nodeName: string): void {
    this.#leave(pod.key);
    this.#assumed.set(pod.key, Number.POSITIVE_INFINITY);
    this.#enter(pod, nodeName);
  }

  /** The binding was answered: the pod should be seen bound before this time. */
  expectBy(key: string, deadline: number): void {
    if (this.#assumed.has(key)) this.#assumed.set(key, deadline);
  }

  /** The binding failed. Does nothing once the pod was seen bound. */
  forget(key: string): void {
    if (this.#assumed.delete(key)) this.#leave(key);
  }

  /** Forgets the assumed pods whose time is over, and names them. */
  expire(now: number): readonly string[] {
    const late = [...this.#assumed].filter(([, deadline]) => deadline <= now).map(([key]) => key);
    for (const key of late) this.forget(key);
    return late;
  }

  isAssumed(key: string): boolean {
    return this.#assumed.has(key);
  }

  /** A pod that was told to go is on its way out, though it was not yet seen so. */
  markTerminating(key: string, uid: string): void {
    const found = this.#placed.get(key);
    if (found === undefined || found.pod.terminating || found.pod.pod.metadata.uid !== uid) return;
    const pod = { ...found.pod, terminating: true };
    this.table.touch(found.slot);
    this.displace(found.pod, found.slot);
    this.place(pod, found.slot);
    this.#placed.set(key, { pod, slot: found.slot });
  }

  podOf(key: string): PodInfo | undefined {
    return this.#placed.get(key)?.pod;
  }

  /** Counts a pod on a node that it is not on, for a what-if; the caller takes it away again in the same turn. */
  place(pod: PodInfo, slot: number): void {
    this.table.addPod(slot, pod);
    this.classes.count(pod, slot, 1);
  }

  displace(pod: PodInfo, slot: number): void {
    this.table.removePod(slot, pod);
    this.classes.count(pod, slot, -1);
  }

  #enter(pod: PodInfo, nodeName: string): void {
    const slot = this.table.open(nodeName);
    this.#placed.set(pod.key, { pod, slot });
    this.table.touch(slot);
    this.place(pod, slot);
  }

  #leave(key: string): void {
    const found = this.#placed.get(key);
    if (found === undefined) return;
    this.#placed.delete(key);
    this.table.touch(found.slot);
    this.displace(found.pod, found.slot);
    this.table.closeIfEmpty(found.slot);
  }
}
