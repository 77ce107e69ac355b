// Local volumes that are given back: their directories are removed, also when the pod that does it fails or is lost.
import { expect, test } from 'vitest';
import { EVENTS, PERSISTENT_VOLUMES, PODS } from '../../../../src/api/resources.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { until } from '../../../support/until.js';
import { withControllers } from '../support/running.js';

const LOCAL = { localPath: { directory: '/volumes', helperImage: 'busybox' } };
const BINDER = ['persistentvolume-binder-controller', 'persistentvolume-protection-controller'];
const helper = { namespace: 'kube-system', name: 'remove-pvc-1' };
const volume = {
  metadata: {
    name: 'pvc-1',
    annotations: { 'pv.kubernetes.io/provisioned-by': 'trellis.dev/local-path' },
    finalizers: ['kubernetes.io/pv-protection'],
  },
  spec: {
    persistentVolumeReclaimPolicy: 'Delete',
    hostPath: { path: '/volumes/pvc-1' },
    claimRef: { namespace: 'default', name: 'gone', uid: 'gone' },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n'] }] },
        ],
      },
    },
  },
  status: { phase: 'Bound' },
};
const uidOf = (api: FakeApi) => api.get(PODS, 'kube-system/remove-pvc-1')?.metadata.uid;

test('a pod that failed or was lost is told, and made again until it succeeds', async () => {
  let skewMs = 0;
  const api = new FakeApi();
  await api.of(PERSISTENT_VOLUMES).create(volume);
  const work = async () => {
    await until(() => expect(uidOf(api)).toBeDefined());
    const first = uidOf(api);
    api.setStatus(PODS, helper, { phase: 'Failed', message: 'evicted' });
    const going = () => api.get(PODS, 'kube-system/remove-pvc-1')?.metadata.deletionTimestamp;
    await until(() => expect(going()).toBeDefined());
    api.remove(PODS, helper);
    skewMs += 10_000;
    await until(() => expect([undefined, first]).not.toContain(uidOf(api)));
    const second = uidOf(api);
    api.remove(PODS, helper);
    skewMs += 60_000;
    await until(() => expect([undefined, first, second]).not.toContain(uidOf(api)));
    const told = api.all(EVENTS).map(({ message }) => message);
    expect(told).toContain('the pod that removes its directory failed: evicted');
    expect(told).toContain('the pod that removes its directory was lost');
    api.setStatus(PODS, helper, { phase: 'Succeeded' });
    await until(() => expect(api.all(PERSISTENT_VOLUMES)).toEqual([]));
    api.remove(PODS, helper);
  };
  await withControllers(api, BINDER, work, { ...LOCAL, now: () => Date.now() + skewMs });
});

test('a volume whose deletion was asked while it was bound goes when its claim does, and its directory too', async () => {
  const api = new FakeApi();
  await api.of(PERSISTENT_VOLUMES).create(volume);
  await api.of(PERSISTENT_VOLUMES).delete({ name: 'pvc-1' });
  const work = async () => {
    await until(() => expect(api.all(PERSISTENT_VOLUMES)).toEqual([]));
    expect(uidOf(api)).toBeDefined();
  };
  await withControllers(api, BINDER, work, LOCAL);
});
