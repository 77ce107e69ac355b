// The volumes of pods: each kind set up in its own file, all under one directory a pod.
// Guarantees: set up again, contents become current and nothing else changes; a failure names the volume as Kubernetes does.
import { mkdir, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import { openTrees } from '../../kernel/tree/adapter.js';
import type { TreePort } from '../../kernel/tree/port.js';
import type { Addresses } from '../environment/fields.js';
import type { Resources } from '../environment/resourceField.js';
import { KubeletError } from '../error.js';
import type { Pod, PodVolumes } from '../ports.js';
import type { VolumeNode } from './claim.js';
import { CONTAINERS_DIR, isMissing, podDir } from './files.js';
import { makePodObjects, type PodObjects } from './objects.js';
import type { ProjectionSources } from './projection.js';
import { removePodDirectory } from './tearDown.js';
import type { TokenManager } from './tokens.js';
import { VolumeSetUps } from './volumeSetUps.js';

interface PodVolumesOptions {
  /** Such as /var/lib/kubelet. */
  readonly rootDir: string;
  readonly client: Client;
  readonly tokens: TokenManager;
  readonly log: Log;
  /** The native core's if left out. */
  readonly trees?: TreePort;
  /** Shared with the container environment, so that one pod asks once. */
  readonly objects?: PodObjects;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** For downwardAPI files; what the pod's status says if left out. */
  readonly addresses?: (pod: Pod) => Addresses;
  /** What a container without limits may use, for resourceFieldRef. */
  readonly allocatable?: () => Resources;
  /** For volumes that only some nodes reach. */
  readonly node?: () => VolumeNode;
}

export class NodeVolumes implements PodVolumes {
  readonly #options: PodVolumesOptions;
  readonly #trees: TreePort;
  readonly #objects: PodObjects;
  readonly #setUps: VolumeSetUps;
  #resolved: Promise<string> | undefined;

  constructor(options: PodVolumesOptions) {
    const { client, tokens, now = Date.now, trees = openTrees() } = options;
    const { addresses = statusAddresses, allocatable = (): Resources => ({}) } = options;
    this.#options = options;
    this.#trees = trees;
    this.#objects = options.objects ?? makePodObjects({ client, now });
    const sources: ProjectionSources = { objects: this.#objects, tokens, addresses, allocatable };
    this.#setUps = new VolumeSetUps({ client, sources, trees, now, log: options.log, node: options.node });
  }

  async setUp(pod: Pod): Promise<ReadonlyMap<string, string>> {
    const base = await this.#root();
    await mkdir(podDir(base, pod.metadata.uid), { recursive: true, mode: 0o750 });
    // Settled, not raced: a second set-up must never meet writes of the first.
    const settled = await Promise.allSettled(
      // Images are the runtime's to mount.
      (pod.spec.volumes ?? [])
        .filter(({ image }) => image === undefined)
        .map(async (volume): Promise<[string, string]> => {
          try {
            return [volume.name, await this.#setUps.setUp(base, pod, volume)];
          } catch (cause) {
            const words = `MountVolume.SetUp failed for volume "${volume.name}" : ${messageOf(cause)}`;
            throw new KubeletError('FailedMount', words, { cause });
          }
        }),
    );
    const failed = settled.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return new Map(settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
  }

  async tearDown(podUid: string): Promise<void> {
    this.#forget(podUid);
    await removePodDirectory(this.#trees, podDir(await this.#root(), podUid), { but: CONTAINERS_DIR });
    this.#options.log.debug('volumes removed', { podUid });
  }

  async remove(podUid: string): Promise<void> {
    this.#forget(podUid);
    await removePodDirectory(this.#trees, podDir(await this.#root(), podUid));
    this.#options.log.debug('the directory of a pod removed', { podUid });
  }

  async podsOnDisk(): Promise<string[]> {
    try {
      const entries = await readdir(path.join(this.#options.rootDir, 'pods'), { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  #forget(podUid: string): void {
    this.#objects.forget(podUid);
    this.#options.tokens.forget(podUid);
  }

  /** The mount table holds resolved paths; ours must compare with them. */
  #root(): Promise<string> {
    const { rootDir } = this.#options;
    this.#resolved ??= mkdir(rootDir, { recursive: true, mode: 0o750 }).then(() => realpath(rootDir));
    this.#resolved.catch(() => {
      this.#resolved = undefined; // not made yet: the next pod tries again
    });
    return this.#resolved;
  }
}

function statusAddresses({ status }: Pod): Addresses {
  return {
    podIps: (status.podIPs ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip])),
    hostIps: status.hostIPs?.flatMap(({ ip }) => (ip === undefined ? [] : [ip])) ?? hostIpOf(status.hostIP),
  };
}

const hostIpOf = (ip: string | undefined) => (ip === undefined ? [] : [ip]);
