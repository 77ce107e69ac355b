// The whole answers that clients have not taken yet, counted.
// Guarantees: together they stay within a bound; beyond it, who has taken nothing for the longest time is cut off.

/** Single objects have up to 3 MB, and clients that read take them in no time. */
const LIMIT_BYTES = 64 * 1024 * 1024;

interface UnsentAnswer {
  /** The client has taken some of it. */
  progressed(): void;
  done(): void;
}

export class Unsent {
  readonly #limitBytes;

  /** Who has made no progress for the longest time comes first. */
  readonly #answers = new Map<UnsentAnswer, { readonly bytes: number; readonly cut: () => void }>();
  #bytes = 0;

  constructor(limitBytes = LIMIT_BYTES) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `done` is called however the answer ends, also when it was cut. */
  add(bytes: number, cut: () => void): UnsentAnswer {
    const held = { bytes, cut };
    const answer: UnsentAnswer = {
      progressed: () => {
        if (this.#answers.delete(answer)) this.#answers.set(answer, held);
      },
      done: () => {
        if (this.#answers.delete(answer)) this.#bytes -= bytes;
      },
    };
    this.#answers.set(answer, held);
    this.#bytes += bytes;
    for (const [oldest, { cut: end }] of this.#answers) {
      if (this.#bytes <= this.#limitBytes || oldest === answer) break;
      oldest.done();
      end();
    }
    return answer;
  }
}
