// Cuts a sequence of frames into pieces for a socket: small frames go together, a large one leaves in parts.
// Guarantees: a piece has at most PIECE bytes, and keeps no more alive than itself; between two pieces no frame is held.

/** A reader that does not read holds one, and TLS what it made of it. */
export const PIECE = 64 * 1024;

/** The frame to be sent next, made again for each of its parts; undefined when there is none for now. */
export interface FrameSource {
  frame(): Buffer | undefined;
  /** The frame has been sent whole. */
  sent(): void;
}

export class Pieces {
  /** How much of the source's frame has been sent. */
  #offset = 0;

  constructor(private readonly source: FrameSource) {}

  /** What can be sent now; undefined when there is nothing. */
  next(): Buffer | undefined {
    const whole: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const frame = this.source.frame();
      if (frame === undefined) break;
      const left = frame.length - this.#offset;
      if (this.#offset === 0 && bytes + left <= PIECE) {
        whole.push(frame);
        bytes += left;
        this.source.sent();
        continue;
      }
      if (bytes === 0) return this.#part(frame);
      break;
    }
    if (bytes === 0) return undefined;
    return whole.length === 1 ? whole[0] : Buffer.concat(whole, bytes);
  }

  /** A copy: a view would keep all of the frame for as long as the reader takes. */
  #part(frame: Buffer): Buffer {
    const end = Math.min(frame.length, this.#offset + PIECE);
    const part = Buffer.allocUnsafeSlow(end - this.#offset);
    frame.copy(part, 0, this.#offset, end);
    this.#offset = end;
    if (end === frame.length) {
      this.#offset = 0;
      this.source.sent();
    }
    return part;
  }
}
