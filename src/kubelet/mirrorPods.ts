// Mirror pods: how static pods are seen in the API.
// Guarantees: one for each static pod, made again when it is deleted or belongs to an older manifest; gone with its pod.
import type { V1Node, V1Pod } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import { keyOf, type Stored } from '../api/object.js';
import { PODS } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from '../client/client.js';
import { CONFIG_HASH, CONFIG_MIRROR, isStatic } from './names.js';
import type { PodManager } from './podManager.js';
import type { Pod } from './ports.js';

/** The pod to post for a static pod. Pure. */
function mirrorOf(pod: Pod, node: Stored<V1Node> | undefined): V1Pod {
  const { name, namespace, labels, annotations } = pod.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      annotations: { ...annotations, [CONFIG_MIRROR]: annotations?.[CONFIG_HASH] ?? '' },
      ...(node === undefined ? {} : { ownerReferences: [ownerOf(node)] }),
    },
    spec: pod.spec,
  };
}

function ownerOf({ metadata }: Stored<V1Node>) {
  return { apiVersion: 'v1', kind: 'Node', name: metadata.name, uid: metadata.uid, controller: true };
}

function isCurrent(pod: Pod, mirror: Pod): boolean {
  return (
    mirror.metadata.deletionTimestamp === undefined &&
    mirror.metadata.annotations?.[CONFIG_MIRROR] === pod.metadata.annotations?.[CONFIG_HASH]
  );
}

export class MirrorPods {
  readonly #options: {
    readonly client: Client;
    readonly pods: PodManager;
    readonly node: () => Stored<V1Node> | undefined;
    readonly log: Log;
  };

  readonly #busy = new Set<string>();

  constructor(options: {
    readonly client: Client;
    readonly pods: PodManager;
    readonly node: () => Stored<V1Node> | undefined;
    readonly log: Log;
  }) {
    this.#options = options;
  }

  /** Compares all static pods with all mirrors; what fails is tried again at the next call. */
  reconcile({ sourcesReady }: { readonly sourcesReady: boolean }): void {
    const { pods } = this.#options;
    for (const pod of pods.all().filter(isStatic)) void this.#once(pod, () => this.#ensure(pod));
    if (!sourcesReady) return;
    for (const mirror of pods.allMirrors())
      if (pods.staticOf(mirror) === undefined) void this.#once(mirror, () => this.#delete(mirror));
  }

  async #ensure(pod: Pod): Promise<void> {
    const { client, pods, node } = this.#options;
    const mirror = pods.mirrorOf(pod);
    if (mirror !== undefined) {
      if (!isCurrent(pod, mirror)) await this.#delete(mirror);
      return;
    }
    try {
      await client.of(PODS).create(mirrorOf(pod, node()));
    } catch (error) {
      // Already there: the informer has yet to say so.
      if (!ApiError.is(error, 'AlreadyExists')) throw error;
    }
  }

  async #delete({ metadata }: Pod): Promise<void> {
    const { name, namespace, uid } = metadata;
    await this.#options.client
      .of(PODS)
      .delete({ name, namespace }, { gracePeriodSeconds: 0, preconditions: { uid } });
  }

  async #once(pod: Pod, work: () => Promise<void>): Promise<void> {
    const key = keyOf(pod.metadata);
    if (this.#busy.has(key)) return;
    this.#busy.add(key);
    try {
      await work();
    } catch (error) {
      this.#options.log.debug('cannot bring a mirror pod to the API', { pod: key, error: messageOf(error) });
    } finally {
      this.#busy.delete(key);
    }
  }
}
