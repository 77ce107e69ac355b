// Waiting for what must become true.
// Guarantees: patience for a busy machine, and the last failure of the check when it runs out.
import { vi } from 'vitest';

const PATIENCE_MS = 60_000; // under the time limit of any test, so that the check's own message is seen

/** Resolves to what `check` gives as soon as it does not throw. */
export const until = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: PATIENCE_MS, interval: 20 });
