// Takes away the directories of released local-path volumes, each by a pod on the node where it is.
// Guarantees: a volume goes only after its pod has succeeded; one that failed or was lost is told as an event of the volume
// and made again with back-off; a pod that has done its work does not stay.
import type { V1Pod } from '../../api/gen/types.js';
import { keyOf } from '../../api/object.js';
import { PERSISTENT_VOLUMES, PODS } from '../../api/resources.js';
import { KeyedBackOff } from '../../base/backOff.js';
import type { Informer } from '../../client/informer.js';
import { ignoring } from '../claim.js';
import type { ControllerContext } from '../controller.js';
import { isTerminating, type Pod } from '../pods.js';
import { HELPER_NAMESPACE, helperName, type LocalPathOptions, removalPod } from './localPath.js';
import type { Volume } from './match.js';

const AGAIN_MS = { firstMs: 1_000, longestMs: 300_000 };

export class Removals {
  readonly #context: ControllerContext;
  readonly #pods: Informer<V1Pod>;
  readonly #options: LocalPathOptions;
  readonly #backoff = new KeyedBackOff(AGAIN_MS);
  /** Volumes for which a pod was made: one that is missing later was lost. */
  readonly #asked = new Set<string>();

  constructor(context: ControllerContext, pods: Informer<V1Pod>, options: LocalPathOptions) {
    this.#context = context;
    this.#pods = pods;
    this.#options = options;
  }

  /** The volume whose directory the pod removes. */
  volumeOf({ metadata }: Pod): string | undefined {
    const isOurs = metadata.namespace === HELPER_NAMESPACE && metadata.name.startsWith(helperName(''));
    return isOurs ? metadata.name.slice(helperName('').length) : undefined;
  }

  /** The next step; answers when to look again, where no event will tell. */
  async remove(volume: Volume): Promise<number | undefined> {
    const { client, now } = this.#context;
    const { name, uid } = volume.metadata;
    const pod = this.#podOf(name);
    if (pod === undefined) {
      if (this.#asked.delete(name)) this.#failed(volume, 'the pod that removes its directory was lost');
      const wait = this.#backoff.remainingMs(name, now());
      if (wait > 0) return wait;
      await this.start(volume);
      return undefined;
    }
    if (isTerminating(pod)) return undefined;
    this.#asked.add(name);
    if (pod.status?.phase === 'Failed') {
      this.#asked.delete(name);
      this.#failed(
        volume,
        `the pod that removes its directory failed: ${pod.status.message ?? pod.status.reason ?? ''}`,
      );
      await this.#delete(pod);
    }
    if (pod.status?.phase !== 'Succeeded') return undefined;
    await client.of(PERSISTENT_VOLUMES).delete(volume.metadata, { preconditions: { uid } });
    return this.tidy(name);
  }

  /** Makes the pod; success also when it is there. */
  async start(volume: Volume): Promise<void> {
    const draft = removalPod(volume, this.#options);
    await ignoring(['AlreadyExists'], this.#context.client.of(PODS).create(draft));
    this.#asked.add(volume.metadata.name);
  }

  /** For a volume that is gone. */
  async tidy(name: string): Promise<undefined> {
    this.#asked.delete(name);
    const pod = this.#podOf(name);
    if (pod !== undefined && ['Succeeded', 'Failed'].includes(pod.status?.phase ?? ''))
      await this.#delete(pod);
  }

  #podOf(name: string): Pod | undefined {
    return this.#pods.get(keyOf({ namespace: HELPER_NAMESPACE, name: helperName(name) }));
  }

  async #delete({ metadata }: Pod): Promise<void> {
    const { uid } = metadata;
    await ignoring(['Conflict'], this.#context.client.of(PODS).delete(metadata, { preconditions: { uid } }));
  }

  #failed(volume: Volume, message: string): void {
    this.#backoff.failed(volume.metadata.name, this.#context.now());
    this.#context.record(PERSISTENT_VOLUMES, volume, {
      type: 'Warning',
      reason: 'VolumeFailedDelete',
      message,
    });
  }
}
