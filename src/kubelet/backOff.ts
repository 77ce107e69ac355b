// Exponential waiting by key: crash loops and image pulls. Pure but for its table; time is an argument.
// Guarantees: the first failure waits the base, each next twice as long up to the limit; long quiet starts over.

interface Entry {
  readonly delayMs: number;
  /** When the delay was last lengthened. */
  readonly at: number;
}

export class BackOff {
  private readonly entries = new Map<string, Entry>();

  constructor(
    private readonly baseMs: number,
    private readonly limitMs: number,
  ) {}

  /** How long after `eventAt` (the failure) there is still to wait. */
  remainingMs(key: string, eventAt: number, now: number): number {
    const entry = this.entries.get(key);
    if (entry === undefined || this.isStale(entry, eventAt)) return 0;
    return Math.max(0, eventAt + entry.delayMs - now);
  }

  /** Lengthens the delay for the next failure. */
  next(key: string, eventAt: number, now: number): void {
    const entry = this.entries.get(key);
    const again = entry !== undefined && !this.isStale(entry, eventAt);
    this.entries.set(key, {
      delayMs: again ? Math.min(entry.delayMs * 2, this.limitMs) : this.baseMs,
      at: now,
    });
  }

  delayMs(key: string): number {
    return this.entries.get(key)?.delayMs ?? 0;
  }

  reset(key: string): void {
    this.entries.delete(key);
  }

  /** Drops every key with this beginning: those of a pod that is gone. */
  forget(prefix: string): void {
    for (const key of this.entries.keys()) if (key.startsWith(prefix)) this.entries.delete(key);
  }

  // As in client-go: what failed again only after twice the limit counts as healthy in between.
  private isStale(entry: Entry, eventAt: number): boolean {
    return eventAt - entry.at > this.limitMs * 2;
  }
}
