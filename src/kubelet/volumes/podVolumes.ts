// The volumes of pods: each kind set up in its own file, all under one directory a pod.
// Guarantees: set up again, contents become current and nothing else changes; a failure names the volume as Kubernetes does.
import { chmod, mkdir, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { V1Volume } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import { openTrees } from '../../kernel/tree/adapter.js';
import type { TreePort } from '../../kernel/tree/port.js';
import type { Addresses } from '../environment/fields.js';
import type { Resources } from '../environment/resourceField.js';
import { KubeletError } from '../error.js';
import type { Pod, PodVolumes } from '../ports.js';
import { writeAtomically } from './atomicWriter.js';
import { setUpClaim, type VolumeNode } from './claim.js';
import { ensureTmpfs, setUpEmptyDir } from './emptyDir.js';
import { CONTAINERS_DIR, isMissing, type Plugin, podDir, volumeDir } from './files.js';
import { setUpHostPath } from './hostPath.js';
import { setUpNfs } from './nfs.js';
import { makePodObjects, type PodObjects } from './objects.js';
import { fsGroupOf, ownByGroup, ownByPod } from './ownership.js';
import { checkPayload, type Payload } from './payload.js';
import {
  configMapPayload,
  downwardPayload,
  type ProjectionSources,
  projectedPayload,
  secretPayload,
} from './projection.js';
import { removePodDirectory } from './tearDown.js';
import type { TokenManager } from './tokens.js';

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

export function makePodVolumes(options: PodVolumesOptions): PodVolumes {
  const { rootDir, client, tokens, log, now = Date.now, trees = openTrees() } = options;
  const { addresses = statusAddresses, allocatable = (): Resources => ({}) } = options;
  const objects = options.objects ?? makePodObjects({ client, now });
  const sources: ProjectionSources = { objects, tokens, addresses, allocatable };

  let resolved: Promise<string> | undefined;
  // The mount table holds resolved paths; ours must compare with them.
  function root(): Promise<string> {
    resolved ??= mkdir(rootDir, { recursive: true, mode: 0o750 }).then(() => realpath(rootDir));
    resolved.catch(() => {
      resolved = undefined; // not made yet: the next pod tries again
    });
    return resolved;
  }

  async function write(pod: Pod, dir: string, payload: Payload, memory: boolean): Promise<string> {
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

  async function setUpVolume(base: string, pod: Pod, volume: V1Volume): Promise<string> {
    const { uid } = pod.metadata;
    const at = (plugin: Plugin) => volumeDir(base, uid, plugin, volume.name);
    const { emptyDir, hostPath, configMap, secret, downwardAPI, projected, nfs } = volume;
    if (hostPath) return setUpHostPath(hostPath);
    if (nfs) return setUpNfs(at('nfs'), nfs);
    const claim = claimOf(pod, volume);
    if (claim !== undefined) {
      const { readOnly, ...named } = claim;
      const own = (dir: string) =>
        ownByPod({ trees, log }, { rootDir: base, pod, volume: volume.name, dir, readOnly });
      return setUpClaim({ client, pod, ...named, node: options.node, nfsDir: at('nfs'), own });
    }
    if (configMap) {
      const payload = await configMapPayload(sources, pod, configMap, configMap.defaultMode);
      return write(pod, at('configmap'), payload, false);
    }
    if (secret) {
      const source = { ...secret, name: secret.secretName };
      return write(pod, at('secret'), await secretPayload(sources, pod, source, secret.defaultMode), true);
    }
    if (downwardAPI) {
      const payload = downwardPayload(sources, pod, downwardAPI.items, downwardAPI.defaultMode);
      return write(pod, at('downward-api'), payload, true);
    }
    if (projected) return write(pod, at('projected'), await projectedPayload(sources, pod, projected), true);
    const [other] = Object.entries(volume).find(
      ([key, value]) => key !== 'name' && key !== 'emptyDir' && value !== undefined,
    ) ?? [undefined];
    if (other !== undefined)
      throw new KubeletError('FailedMount', `volumes of type ${other} are not supported by this kubelet`);
    const dir = at('empty-dir');
    const allocatableMemory = allocatable()['memory'];
    const source = emptyDir ?? {};
    const owner = { trees, log };
    await setUpEmptyDir({ rootDir: base, pod, volume: volume.name, dir, source, owner, allocatableMemory });
    return dir;
  }

  return {
    async setUp(pod) {
      const base = await root();
      await mkdir(podDir(base, pod.metadata.uid), { recursive: true, mode: 0o750 });
      // Settled, not raced: a second set-up must never meet writes of the first.
      const settled = await Promise.allSettled(
        // Images are the runtime's to mount.
        (pod.spec.volumes ?? [])
          .filter(({ image }) => image === undefined)
          .map(async (volume): Promise<[string, string]> => {
            try {
              return [volume.name, await setUpVolume(base, pod, volume)];
            } catch (cause) {
              const words = `MountVolume.SetUp failed for volume "${volume.name}" : ${messageOf(cause)}`;
              throw new KubeletError('FailedMount', words, { cause });
            }
          }),
      );
      const failed = settled.find((one) => one.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      return new Map(settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
    },

    async tearDown(podUid) {
      objects.forget(podUid);
      tokens.forget(podUid);
      await removePodDirectory(trees, podDir(await root(), podUid), { but: CONTAINERS_DIR });
      log.debug('volumes removed', { podUid });
    },

    async remove(podUid) {
      objects.forget(podUid);
      tokens.forget(podUid);
      await removePodDirectory(trees, podDir(await root(), podUid));
      log.debug('the directory of a pod removed', { podUid });
    },

    async podsOnDisk() {
      try {
        const entries = await readdir(path.join(rootDir, 'pods'), { withFileTypes: true });
        return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
      } catch (error) {
        if (isMissing(error)) return [];
        throw error;
      }
    },
  };
}

/** That of an ephemeral volume was made for this pod, and is called after both. */
function claimOf({ metadata }: Pod, { name, persistentVolumeClaim, ephemeral }: V1Volume) {
  if (persistentVolumeClaim !== undefined) {
    const { claimName, readOnly = false } = persistentVolumeClaim;
    return { claimName, readOnly, isOfPod: false };
  }
  return ephemeral && { claimName: `${metadata.name}-${name}`, readOnly: false, isOfPod: true };
}

function statusAddresses({ status }: Pod): Addresses {
  return {
    podIps: (status.podIPs ?? []).flatMap(({ ip }) => (ip === undefined ? [] : [ip])),
    hostIps: status.hostIPs?.flatMap(({ ip }) => (ip === undefined ? [] : [ip])) ?? hostIpOf(status.hostIP),
  };
}

const hostIpOf = (ip: string | undefined) => (ip === undefined ? [] : [ip]);
