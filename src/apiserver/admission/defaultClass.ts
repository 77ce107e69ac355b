// Claims and Ingresses that name no class get the cluster's default one.
// Guarantees: of several defaults of storage the newest wins; several default IngressClasses are a refusal; none is no failure.

import type { KubeObject, Stored } from '../../api/object.js';
import { INGRESSES, PERSISTENT_VOLUME_CLAIMS } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { draftOf } from './requests.js';

const STORAGE_MARKS = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];
const INGRESS_MARK = 'ingressclass.kubernetes.io/is-default-class';
const OLD_STORAGE_CLASS = 'volume.beta.kubernetes.io/storage-class';
const OLD_INGRESS_CLASS = 'kubernetes.io/ingress.class';

export function makeDefaultStorageClass({
  storageClasses,
}: Pick<AdmissionLookups, 'storageClasses'>): AdmissionPlugin {
  return {
    name: 'DefaultStorageClass',
    mutate(request) {
      const claim = draftOf(request, PERSISTENT_VOLUME_CLAIMS, 'create');
      // An empty name is a wish too: no class at all.
      if (claim?.spec === undefined || claim.spec.storageClassName !== undefined) return;
      if (claim.metadata?.annotations?.[OLD_STORAGE_CLASS] !== undefined) return;
      const [newest] = storageClasses().filter(isMarked(STORAGE_MARKS)).sort(newestFirst);
      if (newest !== undefined) claim.spec.storageClassName = newest.metadata.name;
    },
  };
}

export function makeDefaultIngressClass({
  ingressClasses,
}: Pick<AdmissionLookups, 'ingressClasses'>): AdmissionPlugin {
  return {
    name: 'DefaultIngressClass',
    mutate(request) {
      const ingress = draftOf(request, INGRESSES, 'create');
      if (ingress === undefined || ingress.spec?.ingressClassName !== undefined) return;
      if (ingress.metadata?.annotations?.[OLD_INGRESS_CLASS] !== undefined) return;
      const marked = ingressClasses().filter(isMarked([INGRESS_MARK]));
      const [only] = marked;
      if (only === undefined) return;
      if (marked.length > 1) {
        const why = `${marked.length} default IngressClasses were found, only 1 allowed`;
        throw forbidden(INGRESSES, request.name, why);
      }
      ingress.spec = { ...ingress.spec, ingressClassName: only.metadata.name };
    },
  };
}

const isMarked =
  (keys: readonly string[]) =>
  ({ metadata }: Stored<KubeObject>): boolean =>
    keys.some((key) => metadata.annotations?.[key] === 'true');

function newestFirst(a: Stored<KubeObject>, b: Stored<KubeObject>): number {
  const times = Date.parse(b.metadata.creationTimestamp) - Date.parse(a.metadata.creationTimestamp);
  return times !== 0 ? times : a.metadata.name < b.metadata.name ? -1 : 1;
}
