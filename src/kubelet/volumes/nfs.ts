// A directory of an NFS server, mounted below the pod's own by the node's mount.nfs.
// Guarantees: mounted once; without the tool the pod waits and says which one is missing.
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import type { V1NFSVolumeSource } from '../../api/gen/types.js';
import { KubeletError } from '../error.js';
import { isMountPoint, mountNfs } from './mountTable.js';

const HELPERS = ['/sbin/mount.nfs', '/usr/sbin/mount.nfs'];

/** As mount(8) names it; an IPv6 address stands in brackets. */
export function nfsSource({ server, path }: V1NFSVolumeSource): string {
  if (!path.startsWith('/')) throw refused(`nfs path ${JSON.stringify(path)} is not absolute`);
  if (!/^[\w.:-]+$/.test(server) || server.startsWith('-'))
    throw refused(`nfs server ${JSON.stringify(server)} is neither a name nor an address`);
  return `${server.includes(':') ? `[${server}]` : server}:${path}`;
}

export async function setUpNfs(
  dir: string,
  source: V1NFSVolumeSource,
  mountOptions: readonly string[] = [],
): Promise<string> {
  const from = nfsSource(source);
  if (await isMountPoint(dir)) return dir;
  if (!HELPERS.some((file) => existsSync(file)))
    throw refused('this node has no mount.nfs; install nfs-common to use volumes of NFS');
  await mkdir(dir, { recursive: true, mode: 0o750 });
  await mountNfs(from, dir, [...mountOptions, ...(source.readOnly === true ? ['ro'] : [])]);
  return dir;
}

const refused = (why: string) => new KubeletError('FailedMount', why);
