// The bytes of one watch, or its events as objects, made as its reader takes them.
// Guarantees: nothing waits in memory for a reader but one piece; whoever loses its place in the history is cut off.
import { FrameChunks, type FrameSource } from './frameChunks.js';

/** For readers in this process. The object is frozen. */
export interface WatchedEvent {
  readonly type: string;
  readonly object: object;
}

/** What is to be sent: frames that are there, and what has to be waited for. */
export interface WatchSource extends FrameSource {
  /** What `frame` says, as an object. */
  event(): WatchedEvent | undefined;
  /** True when a frame has to be loaded first. */
  readonly isUnloaded: boolean;
  /** True when changes that were not sent yet are no longer held. */
  readonly isLost: boolean;
  load(): Promise<void>;
  /** The reader is waited for from `pause` to `resume`. */
  pause(): void;
  resume(): void;
}

export class WatchStream implements AsyncIterable<Uint8Array> {
  readonly #source: WatchSource;
  readonly #onEnd: () => void;

  readonly #pieces: FrameChunks;
  #ended = false;
  #isCut = false;
  #wake: (() => void) | undefined;

  constructor(source: WatchSource, onEnd: () => void) {
    this.#source = source;
    this.#onEnd = onEnd;

    this.#pieces = new FrameChunks(source);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** True while the reader waits for something to happen. */
  get isIdle(): boolean {
    return this.#wake !== undefined;
  }

  /** There is something to send. */
  wake(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  /** What the source still has is delivered. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.wake();
    this.#onEnd();
  }

  /** Nothing more is delivered. */
  cut(): void {
    this.#isCut = true;
    this.end();
  }

  [Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    return this.#taken(() => this.#pieces.next());
  }

  /** In place of the bytes: one of the two is read. */
  events(): AsyncGenerator<WatchedEvent> {
    const source = this.#source;
    return this.#taken(() => {
      const event = source.event();
      if (event !== undefined) source.sent();
      return event;
    });
  }

  async *#taken<T>(next: () => T | undefined): AsyncGenerator<T> {
    const source = this.#source;
    try {
      while (!this.#isCut && !source.isLost) {
        const piece = next();
        if (piece !== undefined) {
          source.pause();
          yield piece;
          source.resume();
        } else if (source.isUnloaded) await source.load();
        else if (this.#ended) return;
        else if (!source.isLost) {
          this.#pieces.release();
          await new Promise<void>((wake) => (this.#wake = wake));
        }
      }
    } finally {
      source.resume();
      this.cut();
    }
  }
}
