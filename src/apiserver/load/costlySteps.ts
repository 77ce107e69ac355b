// Costly work takes turns: it is done in steps, and of all steps that wait one runs in a turn of the event loop.
// Guarantees: between two steps everything else that is ready is served; users are served in rotation, whoever has more waiting.

/** From this many bytes on, of a body or of an object, a request is costly: some milliseconds of work. */
export const COSTLY_BYTES = 64 * 1024;

export class CostlySteps {
  /** By user, in the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isTurning = false;

  /** Resolves when the step may run; what follows until the next wait is the step. */
  next(user: string): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(user);
      if (own === undefined) this.#waiting.set(user, [resolve]);
      else own.push(resolve);
      this.#turn();
    });
  }

  #turn(): void {
    if (this.#isTurning || this.#waiting.size === 0) return;
    this.#isTurning = true;
    // After the sockets were looked at: whoever asks for little comes between.
    setImmediate(() => {
      this.#isTurning = false;
      for (const [user, steps] of this.#waiting) {
        this.#waiting.delete(user);
        const step = steps.shift();
        if (steps.length > 0) this.#waiting.set(user, steps);
        step?.();
        break;
      }
      this.#turn();
    });
  }
}
