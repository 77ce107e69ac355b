// A binary heap: the least element first, by a given order. Pure but for its own state.

export class Heap<T> {
  readonly #items: T[] = [];
  readonly #comesBefore: (left: T, right: T) => boolean;

  constructor(comesBefore: (left: T, right: T) => boolean) {
    this.#comesBefore = comesBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = items[parent] as T;
      if (!this.#comesBefore(item, above)) break;
      items[at] = above;
      at = parent;
    }
    items[at] = item;
  }

  pop(): T | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (items.length > 0 && last !== undefined) this.#sink(last);
    return first;
  }

  /** Puts an item in the place of the first, then down to where it belongs. */
  #sink(item: T): void {
    const items = this.#items;
    const end = items.length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= end) break;
      if (child + 1 < end && this.#comesBefore(items[child + 1] as T, items[child] as T)) child += 1;
      const below = items[child] as T;
      if (!this.#comesBefore(below, item)) break;
      items[at] = below;
      at = child;
    }
    items[at] = item;
  }
}
