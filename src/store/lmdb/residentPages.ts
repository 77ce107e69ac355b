// Keeps the resident part of LMDB's memory map small: otherwise pages stay resident forever once they were read.
// The package maps a file that has grown anew and leaves the old maps until it is closed, by the thread that closes it.
// Guarantees: about LIMIT bytes of the file are resident at most, however much is read, and next to nothing while nobody reads;
// reading is never wrong or held up.
import { releaseMappedPages } from '../../kernel/mappedFile.js';
import type { StoreEvent } from '../store.js';

const LIMIT = 32 * 1024 * 1024;
const PAGE = 4096;
/** The kernel maps the neighbours of a page with it. */
const AROUND = 64 * 1024;

export class ResidentPages {
  readonly #file: string;

  #touched = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** Told of `count` single reads. */
  looked(count: number): void {
    this.#touch(count * AROUND);
  }

  /** Told of changes: what each replaced was read to decide on it, and large values have pages of their own. */
  changed(events: readonly StoreEvent[]): void {
    let bytes = 0;
    for (const { value, previous } of events) bytes += AROUND + value.length + (previous?.value.length ?? 0);
    this.#touch(bytes);
  }

  /** Told of values that lie side by side; each begins on a page of its own when it is large. */
  listed(values: readonly { readonly value: Uint8Array }[]): void {
    let bytes = 0;
    for (const { value } of values) bytes += value.length + PAGE;
    this.#touch(bytes);
  }

  /** Told of keys that were counted: their pages lie between those of the values, which the kernel maps with them. */
  counted(keys: number): void {
    this.#touch(keys * PAGE);
  }

  /** For a clock: what is counted misses what LMDB itself reads to write and to forget history. */
  release(): void {
    this.#touched = 0;
    releaseMappedPages(this.#file);
  }

  #touch(bytes: number): void {
    this.#touched += bytes;
    if (this.#touched >= LIMIT) this.release();
  }
}
