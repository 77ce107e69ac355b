// Gives a volume to the pod's group, as spec.securityContext.fsGroup asks.
// Guarantees: links are never followed; bits are only added; a second run changes nothing.
import { chmod, lchown, lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { Pod } from '../ports.js';

const SETGID = 0o2000;

/** Writable volumes get group write, the ones that the kubelet fills only group read. */
export async function ownByGroup(
  dir: string,
  gid: number,
  { writable }: { readonly writable: boolean },
): Promise<void> {
  const info = await lstat(dir);
  await lchown(dir, info.uid, gid);
  if (info.isSymbolicLink()) return;
  const bits = writable ? 0o660 : 0o440;
  const mode = info.mode | bits | (info.isDirectory() ? SETGID | 0o110 : 0);
  // After chown: the kernel takes the set-group bit away there.
  await chmod(dir, mode & 0o7777);
  if (!info.isDirectory()) return;
  for (const name of await readdir(dir)) await ownByGroup(path.join(dir, name), gid, { writable });
}

/** With `OnRootMismatch` a volume whose root is already the group's is taken to be so all the way down. */
export async function ownByPod(dir: string, pod: Pod): Promise<void> {
  const gid = fsGroupOf(pod);
  if (gid === undefined) return;
  if (pod.spec.securityContext?.fsGroupChangePolicy === 'OnRootMismatch') {
    const root = await lstat(dir);
    const wanted = SETGID | 0o770;
    if (root.gid === gid && (root.mode & wanted & ~0o700) === (wanted & ~0o700)) return;
  }
  await ownByGroup(dir, gid, { writable: true });
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
