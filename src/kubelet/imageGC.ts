// Which images may go, and in which order; and the rounds in which they do.
// Guarantees: an image in use, pinned or too young stays; the one that nobody used for longest goes first.
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import type { ContainerRuntime, Image } from '../cri/runtime.js';
import type { KubeletConfig } from './config.js';
import type { PullRecords } from './pullRecords.js';
import type { RuntimePod } from './runtime/runtimePod.js';
import type { FilesystemSample } from './stats/sample.js';

interface ImageRecord {
  readonly firstSeenMs: number;
  /** When a container was last seen to use it; when it came if none was. */
  readonly lastUsedMs: number;
}

type ImageRecords = ReadonlyMap<string, ImageRecord>;

/** What is known of each image after this look. Pure. */
export function recordImages(
  before: ImageRecords,
  images: readonly Image[],
  inUse: ReadonlySet<string>,
  nowMs: number,
): ImageRecords {
  return new Map(
    images.map(({ id }) => {
      const known = before.get(id) ?? { firstSeenMs: nowMs, lastUsedMs: nowMs };
      return [id, inUse.has(id) ? { ...known, lastUsedMs: nowMs } : known];
    }),
  );
}

/** In the order in which they go. Pure. */
export function removable(options: {
  readonly images: readonly Image[];
  readonly records: ImageRecords;
  readonly inUse: ReadonlySet<string>;
  readonly nowMs: number;
  readonly minimumAgeMs: number;
}): readonly Image[] {
  const { images, records, inUse, nowMs, minimumAgeMs } = options;
  const record = ({ id }: Image) => records.get(id) ?? { firstSeenMs: nowMs, lastUsedMs: nowMs };
  return images
    .filter((image) => !image.pinned && !inUse.has(image.id) && !isSandboxImage(image))
    .filter((image) => nowMs - record(image).firstSeenMs >= minimumAgeMs)
    .sort(
      (a, b) => record(a).lastUsedMs - record(b).lastUsedMs || record(a).firstSeenMs - record(b).firstSeenMs,
    );
}

/** CRI does not tell which image sandboxes run, and older runtimes do not pin it: it is known by its name. */
const isSandboxImage = ({ repoTags, repoDigests }: Image) =>
  [...repoTags, ...repoDigests].some((name) => /(^|\/)pause[:@]/.test(name));

/** Bytes to free so that usage comes down to the low threshold; 0 below the high one. Pure. */
export function bytesToFree(
  { capacityBytes, availableBytes }: FilesystemSample,
  config: Pick<KubeletConfig, 'imageGCHighThresholdPercent' | 'imageGCLowThresholdPercent'>,
): number {
  if (capacityBytes === 0) return 0;
  const usedPercent = 100 - Math.floor((availableBytes * 100) / capacityBytes);
  if (usedPercent < config.imageGCHighThresholdPercent) return 0;
  return Math.max(0, (capacityBytes * (100 - config.imageGCLowThresholdPercent)) / 100 - availableBytes);
}

interface ImageGCOptions {
  readonly cri: ContainerRuntime;
  readonly config: KubeletConfig;
  /** Those of images that are gone go as well. */
  readonly pullRecords: Pick<PullRecords, 'prune'>;
  readonly runtimePods: () => readonly RuntimePod[];
  readonly imageFs: () => Promise<FilesystemSample>;
  readonly log: Log;
  readonly now: () => number;
  /** Not enough could be removed. */
  readonly failed?: (message: string) => void;
}

export const IMAGE_GC_PERIOD_MS = 300_000;

export class ImageGC {
  readonly #options: ImageGCOptions;

  #records: ImageRecords = new Map();

  constructor(options: ImageGCOptions) {
    this.#options = options;
  }

  /** Frees what the thresholds ask for, and what has been unused for the maximum age. */
  async round(): Promise<void> {
    const { config, imageFs, now, log, failed } = this.#options;
    const images = await this.#look();
    const wanted = bytesToFree(await imageFs(), config);
    const old = (image: Image) =>
      config.imageMaximumGCAge > 0 &&
      now() - (this.#records.get(image.id)?.lastUsedMs ?? now()) > config.imageMaximumGCAge;
    let freed = 0;
    for (const image of this.#candidates(images, config.imageMinimumGCAge)) {
      if (freed >= wanted && !old(image)) continue;
      if (await this.#remove(image)) freed += image.size;
    }
    if (freed >= wanted) return;
    const message = `Failed to garbage collect required amount of images. Attempted to free ${Math.floor(wanted)} bytes, but only found ${freed} bytes eligible to free.`;
    log.warn(message);
    failed?.(message);
  }

  /** Everything that nobody uses, whatever its age: the disk is short. */
  async removeUnused(): Promise<void> {
    for (const image of this.#candidates(await this.#look(), 0)) await this.#remove(image);
  }

  #candidates(images: readonly Image[], minimumAgeMs: number): readonly Image[] {
    const { now } = this.#options;
    return removable({
      images,
      records: this.#records,
      inUse: this.#inUse(images),
      nowMs: now(),
      minimumAgeMs,
    });
  }

  async #look(): Promise<readonly Image[]> {
    const { cri, now, pullRecords } = this.#options;
    const askedMs = now();
    const images = await cri.images.listImages();
    const ids = images.map(({ id }) => id);
    await pullRecords.prune(ids, askedMs);
    this.#records = recordImages(this.#records, images, this.#inUse(images), now());
    return images;
  }

  /** A container may name its image by id, tag or digest. */
  #inUse(images: readonly Image[]): ReadonlySet<string> {
    const names = new Set(
      this.#options
        .runtimePods()
        .flatMap(({ containers }) =>
          containers.flatMap(({ image, imageRef, mounts }) => [
            image.image,
            imageRef,
            ...mounts.flatMap((mount) => mount.image?.image ?? []),
          ]),
        ),
    );
    const used = images.filter(({ id, repoTags, repoDigests }) =>
      [id, ...repoTags, ...repoDigests].some((name) => names.has(name)),
    );
    return new Set(used.map(({ id }) => id));
  }

  async #remove({ id, repoTags }: Image): Promise<boolean> {
    const { cri, log } = this.#options;
    try {
      await cri.images.removeImage(id);
      this.#records = new Map([...this.#records].filter(([known]) => known !== id));
      log.info('removed an image that nobody uses', { image: repoTags[0] ?? id });
      return true;
    } catch (error) {
      log.warn('cannot remove an image', { image: repoTags[0] ?? id, error: messageOf(error) });
      return false;
    }
  }
}
