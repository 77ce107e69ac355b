// What is mounted into a container besides its root: volumes, /etc/hosts and the file for its last words.
// Guarantees: every volumeMount names a volume that is ready; a path built of variables never leaves its volume.
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { V1VolumeMount } from '../../api/gen/types.js';
import type { Mount } from '../../cri/runtime.js';
import { KubeletError } from '../error.js';
import type { ContainerDependencies, Pod } from '../ports.js';
import { CONTAINERS_DIR, element, podDir } from '../volumes/files.js';
import type { ImageProblem } from '../volumes/imageVolume.js';
import { bindSubPath } from '../volumes/subPath.js';
import { expandStrictly } from './expansion.js';
import { nodeHostsText, podHostsText } from './hostsFile.js';

const PROPAGATION = {
  None: 'PROPAGATION_PRIVATE',
  HostToContainer: 'PROPAGATION_HOST_TO_CONTAINER',
  Bidirectional: 'PROPAGATION_BIDIRECTIONAL',
} as const;
const HOSTS = '/etc/hosts';

interface MountRequest extends ContainerDependencies {
  readonly rootDir: string;
  readonly clusterDomain: string;
  readonly attempt: number;
  /** Of volumes that are images. */
  readonly images: ReadonlyMap<string, string>;
  /** Why the runtime cannot mount images. */
  readonly imageProblem?: ImageProblem | undefined;
  /** The runtime can make the mounts below a mount read-only as well. */
  readonly canRecurse: boolean;
  /** Asked only when a subPathExpr needs them. */
  readonly variables: () => Promise<ReadonlyMap<string, string>>;
}

export async function containerMounts(request: MountRequest): Promise<readonly Mount[]> {
  const { container } = request;
  const mounts: Mount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries())
    mounts.push(await volumeMount(request, mount, index));
  const taken = new Set(mounts.map(({ containerPath }) => containerPath));
  const hosts = taken.has(HOSTS) ? undefined : await hostsFile(request);
  if (hosts !== undefined)
    mounts.push({ containerPath: HOSTS, hostPath: hosts, readonly: false, selinuxRelabel: true });
  const message = container.terminationMessagePath || '/dev/termination-log';
  if (!taken.has(message)) {
    const hostPath = await terminationLog(request);
    mounts.push({ containerPath: message, hostPath, readonly: false, selinuxRelabel: true });
  }
  return mounts;
}

/** Where a run of a container leaves its termination message. */
function terminationLogPath(options: {
  readonly rootDir: string;
  readonly podUid: string;
  readonly containerName: string;
  readonly attempt: number;
}): string {
  const { rootDir, podUid, containerName, attempt } = options;
  return path.join(podDir(rootDir, podUid), CONTAINERS_DIR, element(containerName), String(attempt));
}

async function volumeMount(request: MountRequest, mount: V1VolumeMount, index: number): Promise<Mount> {
  const { rootDir, pod, container, volumes, images } = request;
  const { name, mountPath, readOnly = false, mountPropagation = 'None' } = mount;
  const propagation = PROPAGATION[mountPropagation as keyof typeof PROPAGATION];
  if (propagation === undefined) throw refused(`invalid MountPropagation mode: "${mountPropagation}"`);
  const subPath = await subPathOf(request, mount);
  const containerPath = path.posix.isAbsolute(mountPath) ? mountPath : path.posix.join('/', mountPath);
  const image = images.get(name);
  if (image !== undefined) {
    const problem = request.imageProblem?.(subPath === '' ? 'whole' : 'part');
    if (problem !== undefined) throw refused(`cannot mount image volume "${name}": ${problem}`);
    return {
      containerPath,
      hostPath: '',
      readonly: true,
      recursiveReadOnly: readOnly && isRecursive(request, mount),
      image: { image },
      imageSubPath: subPath,
      propagation,
    };
  }
  const volumePath = volumes.get(name);
  if (volumePath === undefined)
    throw refused(`cannot find volume "${name}" to mount into container "${container.name}"`);
  const hostPath =
    subPath === ''
      ? volumePath
      : await bindSubPath({
          rootDir,
          podUid: pod.metadata.uid,
          volume: name,
          volumePath,
          container: container.name,
          index,
          subPath,
        });
  const readonly = readOnly || isReadOnly(pod, name);
  const recursiveReadOnly = readonly && isRecursive(request, mount);
  return { containerPath, hostPath, readonly, recursiveReadOnly, propagation, selinuxRelabel: false };
}

function isRecursive({ canRecurse }: MountRequest, { name, recursiveReadOnly }: V1VolumeMount): boolean {
  if (recursiveReadOnly === 'Enabled' && !canRecurse)
    throw refused(
      `failed to resolve recursive read-only mode: volume "${name}" asks for it, but the runtime does not support it`,
    );
  return canRecurse && (recursiveReadOnly === 'Enabled' || recursiveReadOnly === 'IfPossible');
}

/** Volumes that the kubelet fills, and claims that say so, are read-only to every container, whatever it asks. */
function isReadOnly(pod: Pod, name: string): boolean {
  const volume = pod.spec.volumes?.find((one) => one.name === name);
  if (volume?.persistentVolumeClaim?.readOnly === true) return true;
  return Boolean(volume?.configMap ?? volume?.secret ?? volume?.downwardAPI ?? volume?.projected);
}

async function subPathOf(
  { variables }: MountRequest,
  { subPath, subPathExpr }: V1VolumeMount,
): Promise<string> {
  if (!subPathExpr) return subPath ?? '';
  const known = await variables();
  const { value, missing } = expandStrictly(subPathExpr, (name) => known.get(name));
  if (missing.length > 0) throw refused(`missing value for "${missing[0]}"`);
  return value;
}

/** A pod without an address yet gets none: what it would say is not known. */
async function hostsFile(request: MountRequest): Promise<string | undefined> {
  const { rootDir, clusterDomain, pod, podIps } = request;
  const { hostNetwork = false, hostAliases } = pod.spec;
  if (!hostNetwork && podIps.length === 0) return undefined;
  const text = hostNetwork
    ? nodeHostsText(await readFile(HOSTS, 'utf8'), hostAliases)
    : podHostsText(pod, podIps, clusterDomain);
  const dir = podDir(rootDir, pod.metadata.uid);
  const file = path.join(dir, 'etc-hosts');
  await mkdir(dir, { recursive: true, mode: 0o750 });
  // In place if it is there: a rename would leave running containers with the old file.
  await writeFile(file, text);
  await chmod(file, 0o644);
  return file;
}

async function terminationLog({ rootDir, pod, container, attempt }: MountRequest): Promise<string> {
  const podUid = pod.metadata.uid;
  const file = terminationLogPath({ rootDir, podUid, containerName: container.name, attempt });
  await mkdir(path.dirname(file), { recursive: true, mode: 0o750 });
  // New by rename, so that nothing of an earlier try of this attempt is read as this one's message.
  await writeFile(`${file}.new`, '');
  await chmod(`${file}.new`, 0o666);
  await rename(`${file}.new`, file);
  return file;
}

const refused = (message: string) => new KubeletError('CreateContainerConfigError', message);
