// A signal to wait for. A signal that comes while nobody waits is remembered.

export class WakeSignal {
  #hasRung = false;
  #answer: (() => void) | undefined;

  wake(): void {
    this.#hasRung = true;
    this.#answer?.();
  }

  /** Until the next wake, or that many milliseconds if given. One waiter at a time. */
  async wait(timeoutMs?: number): Promise<void> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        const timer = timeoutMs === undefined ? undefined : setTimeout(resolve, timeoutMs);
        this.#answer = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#answer = undefined;
    }
    this.#hasRung = false;
  }
}
