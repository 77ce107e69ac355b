// The bodies of requests that are in memory, counted together.
// Guarantees: beyond the bound no body grows past what every request may have; a body counts until its request is over.

/** Twenty of the largest bodies at once. */
const LIMIT_BYTES = 64 * 1024 * 1024;
/** So much any request may send: most bodies are smaller, and are not counted. */
const FREE_BYTES = 64 * 1024;
/** A piece costs more than its bytes: many small ones are as bad as a few large ones. */
const PIECE_BYTES = 256;

interface IncomingBody {
  /** False when there is no room for this piece. */
  take(bytes: number): boolean;
  /** The request is over. */
  release(): void;
}

export class IncomingBytes {
  readonly #limitBytes;

  #bytes = 0;

  constructor(limitBytes = LIMIT_BYTES) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `onCounted` is called once, when the body is one that has to be released. */
  open(onCounted: () => void): IncomingBody {
    let size = 0;
    let counted = 0;
    return {
      take: (bytes) => {
        size += bytes + PIECE_BYTES;
        if (size <= FREE_BYTES) return true;
        if (this.#bytes + size - counted > this.#limitBytes) return false;
        if (counted === 0) onCounted();
        this.#bytes += size - counted;
        counted = size;
        return true;
      },
      release: () => {
        this.#bytes -= counted;
        counted = 0;
      },
    };
  }
}
