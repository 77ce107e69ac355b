// One volume of a pod set up, by its kind: what is mounted or written, and where.
// Guarantees: set up again, contents become current and nothing else changes; a kind that nobody here knows is refused.
import { chmod, mkdir } from 'node:fs/promises';
import type { V1Volume } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { Client } from '../../client/client.js';
import type { TreePort } from '../../kernel/tree/port.js';
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';
import { writeAtomically } from './atomicWriter.js';
import { setUpClaim, type VolumeNode } from './claim.js';
import { ensureTmpfs, setUpEmptyDir } from './emptyDir.js';
import { type Plugin, volumeDir } from './files.js';
import { setUpHostPath } from './hostPath.js';
import { setUpNfs } from './nfs.js';
import { fsGroupOf, ownByGroup, ownByPod } from './ownership.js';
import { checkPayload, type Payload } from './payload.js';
import {
  configMapPayload,
  downwardPayload,
  type ProjectionSources,
  projectedPayload,
  secretPayload,
} from './projection.js';

interface VolumeSetUpsOptions {
  readonly client: Client;
  readonly sources: ProjectionSources;
  readonly trees: TreePort;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** For volumes that only some nodes reach. */
  readonly node: (() => VolumeNode) | undefined;
}

/** A volume of a pod below the kubelet's resolved directory. */
interface PodVolume {
  readonly base: string;
  readonly pod: Pod;
  readonly volume: V1Volume;
}

/** Contents that are written as files: where, and whether in memory. */
interface Written {
  readonly plugin: Plugin;
  readonly payload: Payload;
  readonly memory: boolean;
}

export class VolumeSetUps {
  readonly #options: VolumeSetUpsOptions;

  constructor(options: VolumeSetUpsOptions) {
    this.#options = options;
  }

  /** Answers the path that containers mount. */
  async setUp(base: string, pod: Pod, volume: V1Volume): Promise<string> {
    const { hostPath, nfs } = volume;
    if (hostPath) return setUpHostPath(hostPath);
    const at = (plugin: Plugin) => volumeDir(base, pod.metadata.uid, plugin, volume.name);
    if (nfs) return setUpNfs(at('nfs'), nfs);
    const claim = claimOf(pod, volume);
    if (claim !== undefined) return this.#setUpClaim({ base, pod, volume }, claim, at('nfs'));
    const written = await this.#writtenOf(pod, volume);
    if (written !== undefined) return this.#write(pod, at(written.plugin), written);
    requireKnown(volume);
    return this.#setUpEmptyDir({ base, pod, volume }, at('empty-dir'));
  }

  #setUpClaim({ base, pod, volume }: PodVolume, { readOnly, ...named }: Claim, nfsDir: string) {
    const { client, trees, log, node } = this.#options;
    const own = (dir: string) =>
      ownByPod({ trees, log }, { rootDir: base, pod, volume: volume.name, dir, readOnly });
    return setUpClaim({ client, pod, ...named, node, nfsDir, own });
  }

  /** The contents of kinds that are written as files. */
  async #writtenOf(pod: Pod, volume: V1Volume): Promise<Written | undefined> {
    const { sources } = this.#options;
    const { configMap, secret, downwardAPI, projected } = volume;
    if (configMap) {
      const payload = await configMapPayload(sources, pod, configMap, configMap.defaultMode);
      return { plugin: 'configmap', payload, memory: false };
    }
    if (secret) {
      const source = { ...secret, name: secret.secretName };
      const payload = await secretPayload(sources, pod, source, secret.defaultMode);
      return { plugin: 'secret', payload, memory: true };
    }
    if (downwardAPI) {
      const payload = downwardPayload(sources, pod, downwardAPI.items, downwardAPI.defaultMode);
      return { plugin: 'downward-api', payload, memory: true };
    }
    if (projected)
      return { plugin: 'projected', payload: await projectedPayload(sources, pod, projected), memory: true };
    return undefined;
  }

  async #write(pod: Pod, dir: string, { payload, memory }: Written): Promise<string> {
    const { trees, log, now } = this.#options;
    checkPayload(payload);
    await mkdir(dir, { recursive: true, mode: 0o750 });
    if (memory) await ensureTmpfs(dir);
    await chmod(dir, 0o777);
    const gid = fsGroupOf(pod);
    const prepare =
      gid === undefined
        ? {}
        : { prepare: (made: string) => ownByGroup({ trees, log }, made, gid, { writable: false }) };
    await writeAtomically({ dir, payload, now: new Date(now()), ...prepare });
    return dir;
  }

  async #setUpEmptyDir({ base, pod, volume }: PodVolume, dir: string): Promise<string> {
    const { sources, trees, log } = this.#options;
    const allocatableMemory = sources.allocatable()['memory'];
    const source = volume.emptyDir ?? {};
    const owner = { trees, log };
    await setUpEmptyDir({ rootDir: base, pod, volume: volume.name, dir, source, owner, allocatableMemory });
    return dir;
  }
}

/** A volume that names no source is an emptyDir. */
function requireKnown(volume: V1Volume): void {
  const other = Object.entries(volume).find(
    ([key, value]) => key !== 'name' && key !== 'emptyDir' && value !== undefined,
  );
  if (other !== undefined)
    throw new KubeletError('FailedMount', `volumes of type ${other[0]} are not supported by this kubelet`);
}

interface Claim {
  readonly claimName: string;
  readonly readOnly: boolean;
  readonly isOfPod: boolean;
}

/** That of an ephemeral volume was made for this pod, and is called after both. */
function claimOf({ metadata }: Pod, { name, persistentVolumeClaim, ephemeral }: V1Volume): Claim | undefined {
  if (persistentVolumeClaim !== undefined) {
    const { claimName, readOnly = false } = persistentVolumeClaim;
    return { claimName, readOnly, isOfPod: false };
  }
  return ephemeral && { claimName: `${metadata.name}-${name}`, readOnly: false, isOfPod: true };
}
