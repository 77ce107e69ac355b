// Volumes and claims are born with the finalizer that keeps them while something uses them. Pure.

import type { Draft } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '../../api/resources.js';
import type { AdmissionPlugin } from '../admission.js';
import { draftOf } from './requests.js';

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  mutate(request) {
    protect(draftOf(request, PERSISTENT_VOLUME_CLAIMS, 'create'), 'kubernetes.io/pvc-protection');
    protect(draftOf(request, PERSISTENT_VOLUMES, 'create'), 'kubernetes.io/pv-protection');
  },
};

function protect(draft: Draft<KubeObject> | undefined, finalizer: string): void {
  if (draft === undefined) return;
  const held = draft.metadata?.finalizers ?? [];
  if (!held.includes(finalizer)) draft.metadata = { ...draft.metadata, finalizers: [...held, finalizer] };
}
