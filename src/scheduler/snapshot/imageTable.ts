// Which nodes have which images, and how big they are.
// Guarantees: an image is known by every name a node gives it; names of nodes that are gone leave nothing behind.
import type { V1ContainerImage } from '../../api/gen/types.js';

interface ImageState {
  /** Slot to size in bytes. */
  readonly sizes: Map<number, number>;
}

export class ImageTable {
  readonly #images = new Map<string, ImageState>();
  readonly #bySlot = new Map<number, readonly string[]>();

  of(name: string): ImageState | undefined {
    return this.#images.get(name);
  }

  nodeChanged(slot: number, images: readonly V1ContainerImage[] | undefined): void {
    for (const name of this.#bySlot.get(slot) ?? []) {
      const state = this.#images.get(name);
      state?.sizes.delete(slot);
      if (state?.sizes.size === 0) this.#images.delete(name);
    }
    this.#bySlot.delete(slot);
    const named: string[] = [];
    for (const { names = [], sizeBytes = 0 } of images ?? []) {
      for (const name of names) {
        const state = this.#images.get(name) ?? { sizes: new Map() };
        this.#images.set(name, state);
        state.sizes.set(slot, sizeBytes);
        named.push(name);
      }
    }
    if (named.length > 0) this.#bySlot.set(slot, named);
  }
}

/** `busybox` is `busybox:latest`; a port of a registry is no tag, and a digest needs none. */
export function normalizedImage(name: string): string {
  return name.lastIndexOf(':') <= name.lastIndexOf('/') && !name.includes('@') ? `${name}:latest` : name;
}
