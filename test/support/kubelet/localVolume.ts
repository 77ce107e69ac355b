// A claim on a folder of this machine, for tests of a kubelet without controllers.
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES } from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';

/** The claim `data` in the namespace default and its volume, bound to each other, on the node `node-1`. */
export async function bindLocalVolume(client: Client, volumeName: string, path: string): Promise<void> {
  const named = { namespace: 'default', name: 'data' };
  const capacity = { storage: '1Gi' };
  const shared = { accessModes: ['ReadWriteOnce'], storageClassName: 'local' };
  const claim = await client.of(PERSISTENT_VOLUME_CLAIMS).create({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: named,
    spec: { ...shared, volumeName, resources: { requests: capacity } },
  });
  const here = { key: 'kubernetes.io/hostname', operator: 'In', values: ['node-1'] };
  await client.of(PERSISTENT_VOLUMES).create({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volumeName },
    spec: {
      ...shared,
      capacity,
      claimRef: { kind: 'PersistentVolumeClaim', ...named, uid: claim.metadata.uid },
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
    },
  });
  // No controller runs here: the test binds the two.
  const bound = { status: { phase: 'Bound' } };
  await client.of(PERSISTENT_VOLUME_CLAIMS).patch(named, 'merge', bound, { subresource: 'status' });
}
