// The bytes that wait for one slow or fast reader: a queue with a limit, read as an async iterable.
// Guarantees: writing never waits; a reader that falls too far behind is cut off and the memory given back.

const LIMIT_BYTES = 16 * 1024 * 1024;
const CHUNK_BYTES = 256 * 1024;

export class Outbox implements AsyncIterable<Uint8Array> {
  #queue: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #isCut = false;
  #wake: (() => void) | undefined;

  /** What comes before everything that is pushed. It is made as it is read, so it counts towards no limit. */
  beginning: Iterable<Buffer> = [];

  constructor(
    private readonly onEnd: () => void,
    private readonly limitBytes = LIMIT_BYTES,
  ) {}

  get ended(): boolean {
    return this.#ended;
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
    this.#queue = [];
    this.#bytes = 0;
    this.#isCut = true;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    yield* this.#read(
      (pieces) => joined(pieces, CHUNK_BYTES),
      // All that waits, as one piece: one write to the socket for a burst of changes.
      (pieces) => [pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)],
    );
  }

  /** Each piece as it was pushed, for a reader in this process: those who are sent the same can know it. */
  pieces(): AsyncGenerator<Uint8Array> {
    const asTheyAre = (pieces: Iterable<Buffer>) => pieces;
    return this.#read(asTheyAre, asTheyAre);
  }

  async *#read(
    begin: (pieces: Iterable<Buffer>) => Iterable<Buffer>,
    follow: (pieces: readonly Buffer[]) => Iterable<Buffer>,
  ): AsyncGenerator<Uint8Array> {
    try {
      for (const chunk of begin(this.beginning)) {
        if (this.#isCut) return;
        yield chunk;
      }
      this.beginning = [];
      for (;;) {
        if (this.#queue.length > 0) {
          for (const chunk of follow(this.#take())) {
            if (this.#isCut) return;
            yield chunk;
          }
        } else if (this.#ended) return;
        else await new Promise<void>((wake) => (this.#wake = wake));
      }
    } finally {
      this.cut();
    }
  }

  #take(): readonly Buffer[] {
    const pieces = this.#queue;
    this.#queue = [];
    this.#bytes = 0;
    return pieces;
  }
}

/** Small pieces put together into ones of about `size`: a write for every object would be a system call and a TLS record each. */
function* joined(pieces: Iterable<Buffer>, size: number): Generator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    waiting.push(piece);
    bytes += piece.length;
    if (bytes < size) continue;
    yield Buffer.concat(waiting, bytes);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}
