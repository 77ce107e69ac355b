// Locks inside this process, by name: one holder alone, or many that share. Pure.
// Guarantees: first come, first served, so that nobody starves; a failure lets the next one in.

interface Waiter {
  readonly alone: boolean;
  readonly enter: () => void;
}

interface State {
  /** How many share it; -1 while one holds it alone. */
  holders: number;
  readonly queue: Waiter[];
}

export class Locks {
  readonly #states = new Map<string, State>();

  /** How many names are held or waited for. */
  get size(): number {
    return this.#states.size;
  }

  alone<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#hold(name, true, work);
  }

  shared<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#hold(name, false, work);
  }

  async #hold<T>(name: string, alone: boolean, work: () => Promise<T>): Promise<T> {
    const state = this.#states.get(name) ?? { holders: 0, queue: [] };
    this.#states.set(name, state);
    await new Promise<void>((enter) => {
      state.queue.push({ alone, enter });
      this.#admit(state);
    });
    try {
      return await work();
    } finally {
      state.holders = alone ? 0 : state.holders - 1;
      this.#admit(state);
      if (state.holders === 0 && state.queue.length === 0) this.#states.delete(name);
    }
  }

  #admit(state: State): void {
    const { queue } = state;
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      if (next.alone ? state.holders !== 0 : state.holders < 0) return;
      state.holders = next.alone ? -1 : state.holders + 1;
      queue.shift();
      next.enter();
    }
  }
}
