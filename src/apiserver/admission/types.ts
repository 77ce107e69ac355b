// The resources that only admission asks about, as typed names.
import type * as k from '../../api/gen/types.js';
import type { KubeObject } from '../../api/object.js';
import type { ResourceType } from '../../api/resources.js';

function named<T extends KubeObject>(
  group: string,
  kind: string,
  resource: string,
  namespaced: boolean,
): ResourceType<T> {
  return { group, version: 'v1', kind, resource, namespaced };
}

export const LIMIT_RANGES = named<k.V1LimitRange>('', 'LimitRange', 'limitranges', true);
export const RESOURCE_QUOTAS = named<k.V1ResourceQuota>('', 'ResourceQuota', 'resourcequotas', true);
export const PERSISTENT_VOLUMES = named<k.V1PersistentVolume>(
  '',
  'PersistentVolume',
  'persistentvolumes',
  false,
);
export const PERSISTENT_VOLUME_CLAIMS = named<k.V1PersistentVolumeClaim>(
  '',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
  true,
);
export const PRIORITY_CLASSES = named<k.V1PriorityClass>(
  'scheduling.k8s.io',
  'PriorityClass',
  'priorityclasses',
  false,
);
export const STORAGE_CLASSES = named<k.V1StorageClass>(
  'storage.k8s.io',
  'StorageClass',
  'storageclasses',
  false,
);
export const INGRESSES = named<k.V1Ingress>('networking.k8s.io', 'Ingress', 'ingresses', true);
export const INGRESS_CLASSES = named<k.V1IngressClass>(
  'networking.k8s.io',
  'IngressClass',
  'ingressclasses',
  false,
);
export const RUNTIME_CLASSES = named<k.V1RuntimeClass>(
  'node.k8s.io',
  'RuntimeClass',
  'runtimeclasses',
  false,
);
export const CERTIFICATE_SIGNING_REQUESTS = named<k.V1CertificateSigningRequest>(
  'certificates.k8s.io',
  'CertificateSigningRequest',
  'certificatesigningrequests',
  false,
);
