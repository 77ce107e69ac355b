// The local-path provisioner: a directory of a node as a volume, and a pod that removes it again. Pure.
// Guarantees: the path of a volume is made of its own name alone, so nothing outside the directory can be named.
import type { V1PersistentVolume, V1Pod, V1StorageClass } from '../../api/gen/types.js';
import { type Claim, PROVISIONED_BY, type StorageClass, type Volume } from './match.js';

export const LOCAL_PATH_CLASS = 'local-path';
export const LOCAL_PATH_PROVISIONER = 'trellis.dev/local-path';
const PV_PROTECTION = 'kubernetes.io/pv-protection';
const HOSTNAME = 'kubernetes.io/hostname';
export const HELPER_NAMESPACE = 'kube-system';

export interface LocalPathOptions {
  /** Under which volumes are made on a node that does not say where. */
  readonly directory: string;
  /** An image with `rm`, for taking volumes away. */
  readonly helperImage: string;
}

export function defaultStorageClass(): V1StorageClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: LOCAL_PATH_CLASS,
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
    provisioner: LOCAL_PATH_PROVISIONER,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  };
}

/** By the claim's uid, so that trying again makes the same one. */
const volumeName = ({ metadata }: Claim): string => `pvc-${metadata.uid}`;

interface LocalVolumeWish {
  readonly claim: Claim;
  readonly storageClass: StorageClass;
  readonly node: string;
  readonly options: LocalPathOptions;
}

export function localVolume({ claim, storageClass, node, options }: LocalVolumeWish): V1PersistentVolume {
  const name = volumeName(claim);
  const { namespace, name: claimName, uid, resourceVersion } = claim.metadata;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name,
      annotations: { [PROVISIONED_BY]: LOCAL_PATH_PROVISIONER },
      finalizers: [PV_PROTECTION],
    },
    spec: {
      capacity: { storage: claim.spec.resources?.requests?.['storage'] ?? '0' },
      accessModes: claim.spec.accessModes ?? ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      volumeMode: 'Filesystem',
      hostPath: { path: `${options.directory}/${name}`, type: 'DirectoryOrCreate' },
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name: claimName,
        uid,
        resourceVersion,
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: HOSTNAME, operator: 'In', values: [node] }] }],
        },
      },
    },
  };
}

export const helperName = (volume: string): string => `remove-${volume}`;

/** The pod that removes a volume's directory on the node where it is. */
export function removalPod(volume: Volume, { helperImage }: Pick<LocalPathOptions, 'helperImage'>): V1Pod {
  const { name } = volume.metadata;
  const directory = volume.spec.hostPath?.path.slice(0, -`/${name}`.length) ?? '';
  const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const nodeName = terms[0]?.matchExpressions?.[0]?.values?.[0] ?? '';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: HELPER_NAMESPACE, name: helperName(name) },
    spec: {
      nodeName,
      restartPolicy: 'OnFailure',
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: 'remove',
          image: helperImage,
          command: ['rm', '-rf', `/volumes/${name}`],
          volumeMounts: [{ name: 'volumes', mountPath: '/volumes' }],
        },
      ],
      volumes: [{ name: 'volumes', hostPath: { path: directory, type: 'DirectoryOrCreate' } }],
    },
  };
}
