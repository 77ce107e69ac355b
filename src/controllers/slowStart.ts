// Repeats a request in batches of 1, 2, 4, ...: if the server refuses it, that costs one request, not all.
// Guarantees: after a batch with a failure nothing more is tried; every call that was started has ended on return.

interface SlowStartResult {
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  /** The first failure. */
  readonly error?: unknown;
}

export async function slowStart(count: number, act: () => Promise<void>): Promise<SlowStartResult> {
  let remaining = count;
  let done = 0;
  for (let batch = Math.min(remaining, 1); batch > 0; batch = Math.min(2 * batch, remaining)) {
    const results = await Promise.allSettled(Array.from({ length: batch }, act));
    const failures = results.filter((result) => result.status === 'rejected');
    done += batch - failures.length;
    remaining -= batch;
    if (failures[0] !== undefined)
      return { done, failed: failures.length, skipped: remaining, error: failures[0].reason };
  }
  return { done, failed: 0, skipped: 0 };
}
