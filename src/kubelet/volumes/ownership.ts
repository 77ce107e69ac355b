// Gives a volume to the pod's group, as spec.securityContext.fsGroup asks.
// Guarantees: links are never followed, whatever the pod's processes rename meanwhile; bits are only added; a volume that
// outlives its pods is given once for each pod, and not while another pod has it.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../../api/log.js';
import type { TreePort } from '../../kernel/tree/port.js';
import type { Pod } from '../ports.js';
import { element, isMissing, podDir } from './files.js';

export interface Owner {
  readonly trees: TreePort;
  readonly log: Log;
}

/** Writable volumes get group write, the ones that the kubelet fills only group read. */
export async function ownByGroup(
  { trees, log }: Owner,
  dir: string,
  gid: number,
  {
    writable,
    unlessRootMatches = false,
  }: { readonly writable: boolean; readonly unlessRootMatches?: boolean },
): Promise<void> {
  const { refused, code } = await trees.own(dir, { gid, writable, unlessRootMatches });
  // As in Kubernetes, some files that keep their owner are no reason to keep the pod from starting.
  if (refused > 0)
    log.warn('some files of a volume do not get the group of its pod', { dir, gid, refused, code });
}

export interface LocalVolume {
  /** Such as /var/lib/kubelet. */
  readonly rootDir: string;
  readonly pod: Pod;
  /** Its name in the pod. */
  readonly volume: string;
  readonly dir: string;
  readonly readOnly: boolean;
}

/**
 * What the pod does to its files later stays: a file beside the pod remembers that this was done. With `OnRootMismatch`
 * a volume whose root is already the group's is taken to be so all the way down.
 */
export async function ownByPod(
  owner: Owner,
  { rootDir, pod, volume, dir, readOnly }: LocalVolume,
): Promise<void> {
  const plugin = path.join(localVolumes(podDir(rootDir, pod.metadata.uid)), element(volume));
  const mark = path.join(plugin, MARK);
  if ((await contentOf(mark)) === dir) return;
  const gid = fsGroupOf(pod);
  if (gid !== undefined && !readOnly && !(await isUsed(rootDir, dir))) {
    const unlessRootMatches = pod.spec.securityContext?.fsGroupChangePolicy === 'OnRootMismatch';
    await ownByGroup(owner, dir, gid, { writable: true, unlessRootMatches });
  }
  await mkdir(plugin, { recursive: true, mode: 0o750 });
  await writeFile(mark, dir);
}

const MARK = 'path';
const localVolumes = (pod: string) => path.join(pod, 'plugins', 'kubernetes.io~local-volume');

/** Whether a pod of this node has the volume. */
async function isUsed(rootDir: string, dir: string): Promise<boolean> {
  const pods = path.join(rootDir, 'pods');
  for (const uid of await namesIn(pods)) {
    const volumes = localVolumes(path.join(pods, uid));
    for (const name of await namesIn(volumes))
      if ((await contentOf(path.join(volumes, name, MARK))) === dir) return true;
  }
  return false;
}

const namesIn = (dir: string) => readdir(dir).catch((error: unknown) => ifMissing(error, []));
const contentOf = (file: string) =>
  readFile(file, 'utf8').catch((error: unknown) => ifMissing(error, undefined));

function ifMissing<T>(error: unknown, value: T): T {
  if (!isMissing(error)) throw error;
  return value;
}

export const fsGroupOf = (pod: Pod): number | undefined => pod.spec.securityContext?.fsGroup;

/** The one user that all containers run as, who then owns the tokens; undefined when they differ or do not say. */
export function onlyUserOf(pod: Pod): number | undefined {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const users = new Set(
    all.map(({ securityContext }) => securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}
