// PersistentVolumeClaimResize: a claim grows only where its class says that volumes can. Pure.
// Guarantees: a claim that is not bound, or whose class does not allow it, keeps its size.
import type { V1PersistentVolumeClaim } from '../../api/gen/types.js';
import { compareQuantities } from '../../api/quantity.js';
import { PERSISTENT_VOLUME_CLAIMS } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { draftOf } from './requests.js';

const BETA_CLASS = 'volume.beta.kubernetes.io/storage-class';

type Claim = Pick<V1PersistentVolumeClaim, 'metadata' | 'spec'>;

export function makeClaimResize({
  storageClasses,
}: Pick<AdmissionLookups, 'storageClasses'>): AdmissionPlugin {
  const mayGrow = (claim: Claim, old: Claim) => {
    const name = classOf(claim);
    if (name === '' || name !== classOf(old)) return false;
    return storageClasses().find(({ metadata }) => metadata.name === name)?.allowVolumeExpansion === true;
  };
  return {
    name: 'PersistentVolumeClaimResize',
    validate(request) {
      const claim = draftOf(request, PERSISTENT_VOLUME_CLAIMS, 'update') as Claim | undefined;
      const old = request.old as V1PersistentVolumeClaim | undefined;
      if (claim === undefined || old === undefined) return;
      if (compareQuantities(sizeOf(claim), sizeOf(old)) <= 0) return;
      const refuse = (why: string) => forbidden(PERSISTENT_VOLUME_CLAIMS, request.name, why);
      if (old.status?.phase !== 'Bound') throw refuse('Only bound persistent volume claims can be expanded');
      if (!mayGrow(claim, old))
        throw refuse(
          'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
        );
    },
  };
}

const sizeOf = ({ spec }: Claim): string => spec?.resources?.requests?.['storage'] ?? '0';
const classOf = ({ metadata, spec }: Claim): string =>
  metadata?.annotations?.[BETA_CLASS] ?? spec?.storageClassName ?? '';
