// Room on the disk that is kept for deletions: a file beside the store that can be given up.
// Guarantees: once given up, only deletions may use what it held, until there is room to keep it again; where it cannot be
// kept from the start, nothing is refused for it.
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const BYTES = 1024 * 1024;
/** It is kept again when it takes no more than this share of what is free. */
const SHARE = 1 / 2;

export class DiskReserve {
  readonly #file: string;

  #state: 'none' | 'kept' | 'given up' = 'none';

  constructor(file: string) {
    this.#file = file;

    this.keep();
  }

  /** True while the disk is known to be full. */
  get isGivenUp(): boolean {
    return this.#state === 'given up';
  }

  /** Success also when there is no room: then everything is as before. */
  keep(): void {
    if (this.#state === 'kept') return;
    try {
      if (this.#freeBytes() * SHARE < BYTES) return;
      writeFileSync(this.#file, Buffer.alloc(BYTES), { mode: 0o600 });
      this.#state = 'kept';
    } catch {
      // Not enough after all, or a file system that does not say: half a file keeps nothing.
      rmSync(this.#file, { force: true });
    }
  }

  /** After a write has failed. False when that was not for want of room, or there is nothing to give. */
  giveUp(): boolean {
    // A write of which the disk took only a part fails as any other: it is the disk that tells.
    if (this.#state !== 'kept' || this.#freeBytes() >= BYTES) return false;
    rmSync(this.#file, { force: true });
    this.#state = 'given up';
    return true;
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(path.dirname(this.#file));
    return bavail * bsize;
  }
}
