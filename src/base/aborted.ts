// Waiting for a signal. Pure.
// Guarantees: resolves once the signal is aborted, at once if it already is, and never rejects.

export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
