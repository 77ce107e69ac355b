// Keys to be looked at: each at most once in the queue, never handed out twice at a time.
// Guarantees: a key added while it is being worked on is worked on again; back-off grows per key until forgotten.

export interface WorkQueue {
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
  /** Adds the key after its back-off: 5 ms doubling to 1000 s, as in client-go. */
  addRateLimited(key: string): void;
  /** Ends the back-off of a key that succeeded. */
  forget(key: string): void;
  requeues(key: string): number;
  readonly length: number;
  /** The next key, or undefined once the queue is shut down and empty. Call `done` when finished with it. */
  take(): Promise<string | undefined>;
  done(key: string): void;
  shutDown(): void;
}
