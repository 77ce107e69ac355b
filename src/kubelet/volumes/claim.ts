// A persistent volume behind a claim: bound, meant for this claim, reachable from this node, and of a kind it can mount.
// Guarantees: nothing of the volume is ever removed; a claim that is not bound waits with Kubernetes' words.
import { stat } from 'node:fs/promises';
import type { V1PersistentVolume, V1PersistentVolumeClaim } from '../../api/gen/types.js';
import { matchesTerm } from '../../api/nodeSelector.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';
import { isMissing } from './files.js';
import { setUpHostPath } from './hostPath.js';
import { setUpNfs } from './nfs.js';

export interface VolumeNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface ClaimRequest {
  readonly client: Client;
  readonly pod: Pod;
  readonly claimName: string;
  /** The claim must be the pod's own, as that of an ephemeral volume. */
  readonly isOfPod: boolean;
  /** Undefined where it is not known: any volume is taken then. */
  readonly node?: (() => VolumeNode) | undefined;
  /** Where a volume of NFS would be mounted. */
  readonly nfsDir: string;
  /** Gives a local volume to the pod's group. */
  readonly own: (dir: string) => Promise<void>;
}

export async function setUpClaim(request: ClaimRequest): Promise<string> {
  const { client, pod, claimName } = request;
  const { namespace = 'default' } = pod.metadata;
  const claim = await get<V1PersistentVolumeClaim>(
    client,
    `namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims`,
    claimName,
    `persistentvolumeclaim "${claimName}" not found`,
  );
  const owners = claim.metadata?.ownerReferences ?? [];
  if (
    request.isOfPod &&
    !owners.some(({ uid, controller }) => controller === true && uid === pod.metadata.uid)
  )
    throw refused(
      `PVC ${namespace}/${claimName} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`,
    );
  const volumeName = claim.spec?.volumeName;
  if (claim.status?.phase !== 'Bound' || !volumeName)
    throw refused(`PVC ${namespace}/${claimName} is not bound`);
  const volume = await get<V1PersistentVolume>(
    client,
    'persistentvolumes',
    volumeName,
    `failed to fetch PV ${volumeName} from API server. error=persistentvolumes "${volumeName}" not found`,
  );
  if (volume.spec?.claimRef?.uid !== claim.metadata?.uid)
    throw refused(`PV ${volumeName} is bound to another claim than ${namespace}/${claimName}`);
  checkAffinity(volume, request.node?.());
  return path(volume, request);
}

/** The scheduler has looked already; a pod bound by hand, or a node that was relabelled, is found here. */
function checkAffinity({ spec, metadata }: V1PersistentVolume, node: VolumeNode | undefined): void {
  const required = spec?.nodeAffinity?.required;
  if (required === undefined || node === undefined) return;
  if (required.nodeSelectorTerms.some((term) => matchesTerm(term, { metadata: node }))) return;
  throw refused(
    `MountVolume.NodeAffinity check failed for volume "${metadata?.name}" : no matching NodeSelectorTerms`,
  );
}

async function path({ spec, metadata }: V1PersistentVolume, { own, nfsDir }: ClaimRequest): Promise<string> {
  if (spec?.hostPath !== undefined) return setUpHostPath(spec.hostPath);
  if (spec?.nfs !== undefined) return setUpNfs(nfsDir, spec.nfs, spec.mountOptions);
  if (spec?.local === undefined) {
    const kinds = Object.keys(spec ?? {}).filter(
      (key) => typeof spec?.[key as keyof typeof spec] === 'object',
    );
    throw refused(`PV ${metadata?.name} is neither local nor hostPath nor nfs (it has ${kinds.join(', ')})`);
  }
  const at = await setUpHostPath({ path: spec.local.path });
  const found = await stat(at).catch((error: unknown) => {
    if (isMissing(error)) throw refused(`path "${at}" does not exist`);
    throw error;
  });
  // A device would want a file system; this kubelet mounts none.
  if (!found.isDirectory()) throw refused(`path "${at}" of PV ${metadata?.name} is not a directory`);
  await own(at);
  return at;
}

async function get<T>(client: Client, resource: string, name: string, missing: string): Promise<T> {
  try {
    return await client.raw<T>('GET', `/api/v1/${resource}/${encodeURIComponent(name)}`);
  } catch (cause) {
    if (ApiError.is(cause, 'NotFound')) throw refused(missing, cause);
    throw cause;
  }
}

const refused = (why: string, cause?: unknown) => new KubeletError('FailedMount', why, { cause });
