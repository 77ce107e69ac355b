// Images for containers: pull policies, one pull at a time for an image, back-off, events.
// Guarantees: a present image is not asked of a registry unless the policy says Always or the pod has yet to prove that it
// may use it; a pod that may not is told the same as if the image were not there; failures carry Kubernetes' reasons.
import type { V1Container } from '../api/gen/types.js';
import { pullPolicyFor } from '../api/kinds/pod/defaults.js';
import { KeyedBackOff } from '../base/backOff.js';
import { messageOf } from '../base/errorMessage.js';
import type { Image, ImageService } from '../cri/runtime.js';
import { KubeletError } from './error.js';
import { type EventSink, fieldPathOf } from './events.js';
import { type Gate, makeGate } from './gate.js';
import type { PullCredential } from './imageAccess.js';
import { withDefaultTag } from './imageName.js';
import type { Pod } from './ports.js';
import type { PullRecords } from './pullRecords.js';

interface ImagePullerOptions {
  readonly images: ImageService;
  readonly events: EventSink;
  readonly now: () => number;
  /** Pulls at the same time on this node. */
  readonly maxParallel: number;
  /** Who may use the images that are here. */
  readonly records: Pick<PullRecords, 'mayUse' | 'intend' | 'pulled' | 'failed'>;
}

export interface PulledImage {
  /** What CreateContainer is given. */
  readonly imageRef: string;
  readonly image: Image | undefined;
}

export class ImagePuller {
  readonly #options: ImagePullerOptions;

  readonly #backOff = new KeyedBackOff({ firstMs: 10_000, longestMs: 300_000 });
  readonly #lastErrors = new Map<string, { at: number; message: string }>();
  readonly #pulls: Gate;

  constructor(options: ImagePullerOptions) {
    this.#options = options;

    this.#pulls = makeGate(options.maxParallel);
  }

  /** The image of a container, pulled if its policy asks for it. Throws KubeletError with the waiting reason. */
  async ensureImage(
    pod: Pod,
    container: V1Container,
    { pullSecrets = [] }: { readonly pullSecrets?: readonly PullCredential[] } = {},
  ): Promise<PulledImage> {
    const tell = this.#teller(pod, container);
    const name = parsed(container.image ?? '', tell);
    const policy = container.imagePullPolicy ?? pullPolicyFor(name);
    const present = await this.#find(name, tell);
    if (present !== undefined && policy !== 'Always') {
      const requested = container.image ?? '';
      if (await this.#options.records.mayUse(requested, present.id, pullSecrets)) {
        const message = `Container image "${requested}" already present on machine and can be accessed by the pod`;
        tell('Normal', 'Pulled', message);
        return { imageRef: present.id, image: present };
      }
    }
    if (policy === 'Never') {
      const message = `Container image "${container.image}" is not present with pull policy of Never`;
      tell('Warning', 'ErrImageNeverPull', message);
      throw new KubeletError('ErrImageNeverPull', message);
    }
    return this.#pull(pod, container, name, pullSecrets);
  }

  /** When a pull that failed may be tried again. */
  retryAfterMs(pod: Pod, container: V1Container): number {
    const key = keyOf(pod, withDefaultTag(container.image ?? ''));
    const failed = this.#lastErrors.get(key);
    return failed === undefined ? 0 : this.#backOff.remainingMs(key, this.#options.now(), failed.at);
  }

  forget(podUid: string): void {
    this.#backOff.forget(`${podUid}_`);
    for (const key of this.#lastErrors.keys()) if (key.startsWith(`${podUid}_`)) this.#lastErrors.delete(key);
  }

  async #find(name: string, tell: Tell): Promise<Image | undefined> {
    try {
      return await this.#options.images.imageStatus(name);
    } catch (error) {
      const message = `Failed to inspect image "${name}": ${messageOf(error)}`;
      tell('Warning', 'InspectFailed', message);
      throw new KubeletError('ImageInspectError', message, { cause: error });
    }
  }

  async #pull(
    pod: Pod,
    container: V1Container,
    name: string,
    secrets: readonly PullCredential[],
  ): Promise<PulledImage> {
    const { now } = this.#options;
    const tell = this.#teller(pod, container);
    const key = keyOf(pod, name);
    const failed = this.#lastErrors.get(key);
    if (failed !== undefined && this.#backOff.remainingMs(key, now(), failed.at) > 0) {
      const message = `Back-off pulling image "${container.image}"`;
      tell('Normal', 'BackOff', message);
      throw new KubeletError('ImagePullBackOff', `${message}: ErrImagePull: ${failed.message}`);
    }
    tell('Normal', 'Pulling', `Pulling image "${container.image}"`);
    const asked = now();
    let begun = asked;
    try {
      const image = await this.#pulls(() => {
        begun = now();
        return this.#pullRecorded(container.image ?? '', name, secrets);
      });
      const [pulled, waited] = [now() - begun, now() - asked];
      const size = image === undefined ? '' : ` Image size: ${image.size} bytes.`;
      tell(
        'Normal',
        'Pulled',
        `Successfully pulled image "${container.image}" in ${span(pulled)} (${span(waited)} including waiting).${size}`,
      );
      this.#backOff.reset(key);
      this.#lastErrors.delete(key);
      return { imageRef: image?.id ?? name, image };
    } catch (error) {
      const message = messageOf(error);
      tell('Warning', 'Failed', `Failed to pull image "${container.image}": ${message}`);
      this.#backOff.failed(key, now());
      this.#lastErrors.set(key, { at: now(), message });
      throw new KubeletError('ErrImagePull', message, { cause: error });
    }
  }

  /** What is on its way is on record before it comes, so that it never passes for an image that somebody put here. */
  async #pullRecorded(
    requested: string,
    name: string,
    secrets: readonly PullCredential[],
  ): Promise<Image | undefined> {
    const { images, records } = this.#options;
    await records.intend(requested);
    const { ref, credential } = await this.#pullWith(name, secrets).catch(async (error: unknown) => {
      await records.failed(requested);
      throw error;
    });
    let image: Image | undefined;
    try {
      image = await images.imageStatus(name);
      return image;
    } finally {
      await records.pulled(requested, image?.id ?? ref, credential);
    }
  }

  /** Each credential in turn, as several secrets may name one registry; without any, as nobody. Answers the one that did. */
  async #pullWith(name: string, secrets: readonly PullCredential[]) {
    const tries: readonly (PullCredential | undefined)[] = secrets.length === 0 ? [undefined] : secrets;
    let failure: unknown;
    for (const credential of tries)
      try {
        return { ref: await this.#options.images.pullImage(name, credential?.auth), credential };
      } catch (error) {
        failure = error;
      }
    throw failure;
  }

  #teller(pod: Pod, container: V1Container): Tell {
    const fieldPath = fieldPathOf(pod, container);
    return (type, reason, message) => this.#options.events.event(pod, { type, reason, message, fieldPath });
  }
}

type Tell = (type: 'Normal' | 'Warning', reason: string, message: string) => void;

const keyOf = (pod: Pod, image: string) => `${pod.metadata.uid}_${image}`;
const span = (ms: number) => (ms < 1000 ? `${ms}ms` : `${(ms / 1000).toFixed(3).replace(/\.?0+$/, '')}s`);

function parsed(image: string, tell: Tell): string {
  try {
    return withDefaultTag(image);
  } catch (error) {
    tell('Warning', 'InspectFailed', messageOf(error));
    throw error;
  }
}
