// Taints of nodes as numbers: nodes with the same taints share one, so a pod is held against each set once.
// Guarantees: set 0 is "no taints"; a set that no node has any more is forgotten.
import type { V1Taint } from '../../api/gen/types.js';

interface TaintSet {
  readonly key: string;
  readonly taints: readonly V1Taint[];
  nodes: number;
}

export class TaintSets {
  readonly #numbers = new Map<string, number>();
  readonly #free: number[] = [];
  readonly sets: TaintSet[] = [{ key: '', taints: [], nodes: 0 }];
  /** By slot. */
  ids = new Int32Array(64);

  nodeChanged(slot: number, taints: readonly V1Taint[] | undefined): void {
    if (slot >= this.ids.length) {
      const bigger = new Int32Array(slot * 2);
      bigger.set(this.ids);
      this.ids = bigger;
    }
    const before = this.ids[slot] ?? 0;
    this.ids[slot] = this.#enter(taints ?? []);
    this.#leave(before);
  }

  #enter(taints: readonly V1Taint[]): number {
    if (taints.length === 0) return 0;
    const key = JSON.stringify(taints.map(({ key, value, effect }) => [key, value ?? '', effect]));
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#free.pop() ?? this.sets.length;
      this.sets[number] = { key, taints, nodes: 0 };
      this.#numbers.set(key, number);
    }
    const set = this.sets[number];
    if (set !== undefined) set.nodes += 1;
    return number;
  }

  #leave(number: number): void {
    const set = this.sets[number];
    if (number === 0 || set === undefined) return;
    set.nodes -= 1;
    if (set.nodes > 0) return;
    this.#numbers.delete(set.key);
    this.#free.push(number);
  }
}
