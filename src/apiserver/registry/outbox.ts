// The bytes that wait for one slow or fast reader: a queue with a limit, read as an async iterable.
// Guarantees: writing never waits; a reader that falls too far behind is cut off and the memory given back.

const LIMIT_BYTES = 16 * 1024 * 1024;
const FIRST_CHUNK = 256 * 1024;

export class Outbox implements AsyncIterable<Uint8Array> {
  #first: Iterator<Buffer> | undefined;
  #queue: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(
    private readonly onEnd: () => void,
    private readonly limitBytes = LIMIT_BYTES,
  ) {}

  get ended(): boolean {
    return this.#ended;
  }

  /** Delivered before anything that is pushed. Made as the reader takes it, so it may be more than the limit. */
  begin(pieces: Iterable<Buffer>): void {
    this.#first = pieces[Symbol.iterator]();
  }

  push(...pieces: readonly Buffer[]): void {
    if (this.#ended) return;
    for (const piece of pieces) {
      this.#queue.push(piece);
      this.#bytes += piece.length;
    }
    if (this.#bytes > this.limitBytes) this.cut();
    this.#wake?.();
  }

  /** What is queued is still delivered. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#wake?.();
    this.onEnd();
  }

  /** What is queued is dropped. */
  cut(): void {
    this.#first = undefined;
    this.#queue = [];
    this.#bytes = 0;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const first = this.#takeFirst();
        if (first !== undefined) yield first;
        else if (this.#queue.length > 0) yield this.#take();
        else if (this.#ended) return;
        else await new Promise<void>((wake) => (this.#wake = wake));
      }
    } finally {
      this.cut();
    }
  }

  #takeFirst(): Buffer | undefined {
    const pieces: Buffer[] = [];
    for (let size = 0; this.#first !== undefined && size < FIRST_CHUNK; size += pieces.at(-1)?.length ?? 0) {
      const { done, value } = this.#first.next();
      if (done === true) this.#first = undefined;
      else pieces.push(value);
    }
    return pieces.length === 0 ? undefined : Buffer.concat(pieces);
  }

  /** All that waits, as one piece: one write to the socket for a burst of changes. */
  #take(): Buffer {
    const pieces = this.#queue;
    this.#queue = [];
    this.#bytes = 0;
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }
}
