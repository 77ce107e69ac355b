// What the server itself must know of volumes to judge their readers: the claim of each, and the Secrets its node needs.
// Guarantees: a volume takes little memory here; Secrets that only controllers need are not a node's to read.
import type { V1PersistentVolume, V1SecretReference } from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';

export interface ClaimedVolume extends KubeObject {
  /** `namespace/name`; undefined while no claim has it. */
  readonly claim?: string;
  /** `namespace/name` each. */
  readonly secrets: readonly string[];
}

export function claimedVolume({ metadata, spec }: Stored<V1PersistentVolume>): Stored<ClaimedVolume> {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  const identity = { name, uid, resourceVersion, creationTimestamp };
  const { namespace = '', name: claim = '' } = spec?.claimRef ?? {};
  if (claim === '') return { metadata: identity, secrets: [] };
  return { metadata: identity, claim: `${namespace}/${claim}`, secrets: secretsOf(spec, namespace) };
}

function secretsOf(spec: V1PersistentVolume['spec'], claimNamespace: string): readonly string[] {
  const { azureFile, csi } = spec ?? {};
  const own: readonly (V1SecretReference | undefined)[] = [
    azureFile && { name: azureFile.secretName, namespace: azureFile.secretNamespace },
    spec?.cephfs?.secretRef,
    spec?.flexVolume?.secretRef,
    spec?.rbd?.secretRef,
    spec?.scaleIO?.secretRef,
    spec?.iscsi?.secretRef,
  ];
  const exact: readonly (V1SecretReference | undefined)[] = [
    spec?.cinder?.secretRef,
    spec?.storageos?.secretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ];
  return [
    ...own.map((one) => one && { ...one, namespace: one.namespace || claimNamespace }),
    ...exact,
  ].flatMap((one) => (one?.name ? [`${one.namespace ?? ''}/${one.name}`] : []));
}
