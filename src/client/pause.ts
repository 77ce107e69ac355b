// Waiting that can be cut short, and the back-off between tries.
// Guarantees: an aborted pause resolves at once and leaves no timer behind.

export function pause(delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, delayMs);
    signal?.addEventListener('abort', end, { once: true });
  });
}

export interface BackoffOptions {
  readonly firstMs: number;
  readonly limitMs: number;
  readonly random?: () => number;
}

/** Doubles from `firstMs` to `limitMs`; each delay is spread over its upper half, so that clients do not march in step. */
export function makeBackoff({ firstMs, limitMs, random = Math.random }: BackoffOptions) {
  let next = firstMs;
  return {
    next(): number {
      const delay = next;
      next = Math.min(next * 2, limitMs);
      return delay * (0.5 + random() / 2);
    },
    reset(): void {
      next = firstMs;
    },
  };
}
