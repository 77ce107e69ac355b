// Long work in steps: a generator that yields where other work may run in between. Pure.
// Guarantees: the result is the same whether the steps run at once or with pauses between them.

/** Yields between its steps and returns its result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** For work that is known to be short. */
export function atOnce<T>(work: Steps<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Waits between two steps, where there is something to wait for. */
export async function inSteps<T>(work: Steps<T>, pause: () => Promise<void> | undefined): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    const pending = pause();
    if (pending !== undefined) await pending;
  }
}
