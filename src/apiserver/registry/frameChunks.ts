// Cuts a sequence of frames into pieces for a socket: small frames go together, a large one leaves in parts.
// Guarantees: a piece has at most `size` bytes, and keeps no more alive than itself; between two pieces no frame is held.
// A large piece is in memory that is used again: it is true until the next one is asked for.

/** A reader that does not read holds one, and TLS what it made of it. */
export const PIECE = 48 * 1024;
/** Of lists, which hold less beside it, and whose time depends on the number of pieces. */
export const LIST_PIECE = 64 * 1024;

/** The frame to be sent next, made again for each of its parts; undefined when there is none for now. */
export interface FrameSource {
  frame(): Buffer | undefined;
  /** The frame has been sent whole. */
  sent(): void;
}

/** Fresh memory for every piece of a long list would cost as much as sending it. */
const spare = new Map<number, Buffer[]>([
  [PIECE, []],
  [LIST_PIECE, []],
]);
const MOST_SPARE = 8;
/** Smaller ones have memory of their own, and need not be waited for. */
export const LARGE_PIECE = 32 * 1024;

/** For readers that keep a piece while they ask for the next. */
export async function* owned(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) yield piece.length < LARGE_PIECE ? piece : Buffer.from(piece);
}

export class FrameChunks {
  readonly #source: FrameSource;
  readonly #size: number;

  /** How much of the source's frame has been sent. */
  #offset = 0;
  #memory: Buffer | undefined;

  constructor(source: FrameSource, size: number = PIECE) {
    this.#source = source;
    this.#size = size;
  }

  /** What can be sent now; undefined when there is nothing. */
  next(): Buffer | undefined {
    const first = this.#source.frame();
    if (first === undefined) return undefined;
    if (this.#offset > 0 || first.length > this.#size) return this.#part(first);
    this.#source.sent();
    const second = this.#source.frame();
    // Often there is but one: an event that many watchers share.
    if (second === undefined || first.length + second.length > this.#size) return first;
    return this.#joined(first, second);
  }

  /** What was put together last is not needed any more, and nobody reads it. */
  release(): void {
    const kept = spare.get(this.#size);
    if (this.#memory !== undefined && kept !== undefined && kept.length < MOST_SPARE) kept.push(this.#memory);
    this.#memory = undefined;
  }

  #joined(first: Buffer, second: Buffer): Buffer {
    this.#memory ??= spare.get(this.#size)?.pop() ?? Buffer.allocUnsafeSlow(this.#size);
    const memory = this.#memory;
    let used = first.copy(memory);
    for (let frame: Buffer | undefined = second; frame !== undefined; frame = this.#source.frame()) {
      if (used + frame.length > this.#size) break;
      used += frame.copy(memory, used);
      this.#source.sent();
    }
    return this.#finished(used);
  }

  /** A copy: a view would keep all of the frame for as long as the reader takes. */
  #part(frame: Buffer): Buffer {
    const end = Math.min(frame.length, this.#offset + this.#size);
    this.#memory ??= spare.get(this.#size)?.pop() ?? Buffer.allocUnsafeSlow(this.#size);
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
