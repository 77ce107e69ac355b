// Cuts a sequence of frames into pieces for a socket: small frames go together, a large one leaves in parts.
// Guarantees: a piece has at most PIECE bytes, and keeps no more alive than itself; between two pieces no frame is held.
// A large piece is in memory that is used again: it is true until the next one is asked for.

/** A reader that does not read holds one, and TLS what it made of it. */
export const PIECE = 48 * 1024;

/** The frame to be sent next, made again for each of its parts; undefined when there is none for now. */
export interface FrameSource {
  frame(): Buffer | undefined;
  /** The frame has been sent whole. */
  sent(): void;
}

/** Fresh memory for every piece of a long list would cost as much as sending it. */
const spare: Buffer[] = [];
const MOST_SPARE = 8;
/** Smaller ones have memory of their own, and need not be waited for. */
export const LARGE_PIECE = 32 * 1024;

/** For readers that keep a piece while they ask for the next. */
export async function* owned(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) yield piece.length < LARGE_PIECE ? piece : Buffer.from(piece);
}

export class FrameChunks {
  readonly #source: FrameSource;

  /** How much of the source's frame has been sent. */
  #offset = 0;
  #memory: Buffer | undefined;

  constructor(source: FrameSource) {
    this.#source = source;
  }

  /** What can be sent now; undefined when there is nothing. */
  next(): Buffer | undefined {
    const first = this.#source.frame();
    if (first === undefined) return undefined;
    if (this.#offset > 0 || first.length > PIECE) return this.#part(first);
    this.#source.sent();
    const second = this.#source.frame();
    // Often there is but one: an event that many watchers share.
    if (second === undefined || first.length + second.length > PIECE) return first;
    return this.#joined(first, second);
  }

  /** What was put together last is not needed any more, and nobody reads it. */
  release(): void {
    if (this.#memory !== undefined && spare.length < MOST_SPARE) spare.push(this.#memory);
    this.#memory = undefined;
  }

  #joined(first: Buffer, second: Buffer): Buffer {
    this.#memory ??= spare.pop() ?? Buffer.allocUnsafeSlow(PIECE);
    const memory = this.#memory;
    let used = first.copy(memory);
    for (let frame: Buffer | undefined = second; frame !== undefined; frame = this.#source.frame()) {
      if (used + frame.length > PIECE) break;
      used += frame.copy(memory, used);
      this.#source.sent();
    }
    return this.#finished(used);
  }

  /** A copy: a view would keep all of the frame for as long as the reader takes. */
  #part(frame: Buffer): Buffer {
    const end = Math.min(frame.length, this.#offset + PIECE);
    this.#memory ??= spare.pop() ?? Buffer.allocUnsafeSlow(PIECE);
    const used = frame.copy(this.#memory, 0, this.#offset, end);
    this.#offset = end;
    if (end === frame.length) {
      this.#offset = 0;
      this.#source.sent();
    }
    return this.#finished(used);
  }

  #finished(used: number): Buffer {
    const piece = (this.#memory as Buffer).subarray(0, used);
    if (used >= LARGE_PIECE) return piece;
    const own = Buffer.from(piece);
    this.release();
    return own;
  }
}
