// A list as a body: made as its reader takes it.
// Guarantees: nothing is held for a reader but one piece, and after a second without reading no object of the list.

import type { Stream } from '../exchange.js';
import { FrameChunks, type FrameSource, PIECE } from '../registry/frameChunks.js';
import { frames } from '../registry/frames.js';
import type { PageReader } from '../registry/pageReader.js';
import type { ListForm } from './listForm.js';

/** Which frame comes next. */
type ListPart = 'head' | 'between' | 'item' | 'tail' | 'end';

export class ListBody implements Stream, FrameSource {
  readonly #form: ListForm;
  readonly #reader: PageReader;

  readonly #pieces = new FrameChunks(this);
  #place: ListPart = 'head';
  /** Made already, and not yet asked for. */
  #ready: Buffer | undefined;

  constructor(form: ListForm, reader: PageReader) {
    this.#form = form;
    this.#reader = reader;
  }

  /** The list as a whole when it is no larger than a piece; undefined when it has to be read. */
  async small(): Promise<Buffer | undefined> {
    if (this.#reader.current === undefined) await this.#reader.load();
    this.#ready = this.#pieces.next();
    return this.#place === 'end' ? this.#ready : undefined;
  }

  frame(): Buffer | undefined {
    if (this.#place === 'item' || this.#place === 'between') {
      // One item after another, until there are none; what has to be loaded is awaited first.
      if (this.#reader.ended) this.#place = 'tail';
      else if (this.#reader.current === undefined) return undefined;
    }
    switch (this.#place) {
      case 'head':
        return this.#form.head;
      case 'between':
        return this.#form.between;
      case 'item':
        return this.#item();
      case 'tail':
        return this.#form.tail;
      case 'end':
        return undefined;
    }
  }

  sent(): void {
    if (this.#place === 'head' || this.#place === 'between') this.#place = 'item';
    else if (this.#place === 'item') {
      this.#reader.take();
      this.#place = 'between';
    } else this.#place = 'end';
  }

  release(): void {
    this.#pieces.release();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const reader = this.#reader;
    try {
      for (;;) {
        const piece = this.#takeReady() ?? this.#pieces.next();
        if (piece !== undefined) {
          reader.pause();
          yield piece;
          reader.resume();
        } else if (this.#place !== 'end') await reader.load();
        else return this.#pieces.release();
      }
    } finally {
      reader.resume();
    }
  }

  #takeReady(): Buffer | undefined {
    const ready = this.#ready;
    this.#ready = undefined;
    return ready;
  }

  /** A large one is asked for again for each of its pieces. */
  #item(): Buffer | undefined {
    const object = this.#reader.current;
    if (object === undefined) return undefined;
    const form = this.#form;
    if (form.plainFrom !== undefined) return object.bytes.subarray(form.plainFrom);
    if (object.size < PIECE / 4) return form.item(object);
    return frames.of(object.bytes, `list ${form.name}`, () => form.item(object));
  }
}
