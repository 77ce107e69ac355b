// Which volume a claim gets, and what becomes of either.
import { describe, expect, test } from 'vitest';
import { VOLUME_DIR_ANNOTATION, volumeDirOf } from '../../../../src/api/volumeDir.js';
import { misfitOf, volumesFor } from '../../../../src/api/volumeMatch.js';
import { localVolume, removalPod } from '../../../../src/controllers/volumes/localPath.js';
import type { Claim, StorageClass, Volume } from '../../../../src/controllers/volumes/match.js';
import { planClaim, planVolume } from '../../../../src/controllers/volumes/plan.js';
import { protectedFinalizers } from '../../../../src/controllers/volumes/protection.js';
import { ago, pod } from '../support/objects.js';

const volume = (
  name: string,
  storage: string,
  spec: object = {},
  phase = 'Available',
  meta: object = {},
): Volume => ({
  metadata: { ...pod(name).metadata, ...meta },
  spec: {
    capacity: { storage },
    accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
    storageClassName: 'slow',
    ...spec,
  },
  status: { phase },
});
const claim = (spec: object = {}, annotations: object = {}): Claim => ({
  metadata: { ...pod('data').metadata, annotations: annotations as Record<string, string> },
  spec: {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'slow',
    resources: { requests: { storage: '2Gi' } },
    ...spec,
  },
  status: { phase: 'Pending' },
});
const storageClass = (more: object = {}): StorageClass => ({
  metadata: pod('slow').metadata,
  provisioner: 'example.com/disk',
  ...more,
});
const mine = { name: 'data', namespace: 'default', uid: 'uid-data' };
const other = { name: 'x', namespace: 'default', uid: 'uid-x' };

describe('volumesFor', () => {
  test.each([
    ['the smallest that fits', [volume('a', '9Gi'), volume('b', '3Gi'), volume('c', '1Gi')], 'b'],
    [
      'one that is reserved for it',
      [volume('a', '3Gi'), volume('b', '9Gi', { claimRef: { ...mine, uid: '' } })],
      'b',
    ],
    [
      'one that is reserved for it, whatever its class and access modes',
      [
        volume('a', '3Gi'),
        volume('b', '9Gi', {
          claimRef: { ...mine, uid: '' },
          storageClassName: '',
          accessModes: ['ReadOnlyMany'],
        }),
      ],
      'b',
    ],
    [
      'no reserved one that is too small or of another mode',
      [
        volume('a', '3Gi'),
        volume('b', '1Gi', { claimRef: { ...mine, uid: '' } }),
        volume('c', '9Gi', { claimRef: { ...mine, uid: '' }, volumeMode: 'Block' }),
      ],
      'a',
    ],
    ['none of another claim', [volume('a', '3Gi', { claimRef: other })], undefined],
    ['none of another class', [volume('a', '3Gi', { storageClassName: 'fast' })], undefined],
    ['none of another mode', [volume('a', '3Gi', { volumeMode: 'Block' })], undefined],
    ['none without its access mode', [volume('a', '3Gi', { accessModes: ['ReadOnlyMany'] })], undefined],
    [
      'none that is being deleted',
      [volume('a', '3Gi', {}, 'Available', { deletionTimestamp: ago(1) })],
      undefined,
    ],
  ])('takes %s', (_, volumes, wanted) => {
    expect(volumesFor(claim(), volumes)[0]?.metadata.name).toBe(wanted);
  });
  test('obeys the selector', () => {
    const ssd = volume('b', '3Gi', {}, 'Available', { labels: { disk: 'ssd' } });
    const wanted = claim({ selector: { matchLabels: { disk: 'ssd' } } });
    expect(volumesFor(wanted, [volume('a', '2Gi'), ssd])[0]?.metadata.name).toBe('b');
  });
  test('says why a named one does not fit', () => {
    expect(misfitOf(volume('a', '1Gi'), claim())).toBe('requested PV is too small');
  });
});

describe('planClaim', () => {
  const plan = (
    of: Claim,
    {
      named,
      volumes = [],
      storage,
      hasConsumer = false,
    }: { named?: Volume; volumes?: Volume[]; storage?: StorageClass; hasConsumer?: boolean } = {},
  ) => {
    const action = planClaim({ claim: of, named, volumes, storageClass: storage, hasConsumer });
    return action.do === 'setPhase' ? `${action.phase} ${action.event?.reason ?? ''}`.trim() : action.do;
  };
  const waits = storageClass({ volumeBindingMode: 'WaitForFirstConsumer' });
  const bound = { 'pv.kubernetes.io/bind-completed': 'yes' };
  test.each([
    ['takes what is there', plan(claim(), { volumes: [volume('a', '3Gi')] }), 'bind'],
    ['has one made', plan(claim(), { storage: storageClass() }), 'provision'],
    [
      'takes one that is reserved for it at once, also where it would wait for its consumer',
      plan(claim(), {
        volumes: [volume('a', '3Gi', { claimRef: { ...mine, uid: '' }, storageClassName: 'fast' })],
        storage: waits,
      }),
      'bind',
    ],
    ['waits for its consumer', plan(claim(), { storage: waits }), 'Pending WaitForFirstConsumer'],
    [
      'waits for its consumer to be placed',
      plan(claim(), { storage: waits, hasConsumer: true }),
      'Pending WaitForPodScheduled',
    ],
    [
      'has one made on the chosen node',
      plan(claim({}, { 'volume.kubernetes.io/selected-node': 'n' }), { storage: waits }),
      'provision',
    ],
    [
      'says that nothing can be made without a class',
      plan(claim({ storageClassName: '' })),
      'Pending FailedBinding',
    ],
    ['says that its class is missing', plan(claim()), 'Pending ProvisioningFailed'],
    ['takes the one it names', plan(claim({ volumeName: 'a' }), { named: volume('a', '3Gi') }), 'bind'],
    ['waits for the one it names', plan(claim({ volumeName: 'a' })), 'Pending'],
    [
      'does not take what another has',
      plan(claim({ volumeName: 'a' }), { named: volume('a', '3Gi', { claimRef: other }) }),
      'Pending FailedBinding',
    ],
    [
      'does not take what is too small',
      plan(claim({ volumeName: 'a' }), { named: volume('a', '1Gi') }),
      'Pending VolumeMismatch',
    ],
    [
      'takes the one that names it and that it names, whatever its class',
      plan(claim({ volumeName: 'a' }), {
        named: volume('a', '3Gi', { claimRef: { ...mine, uid: '' }, storageClassName: 'fast' }),
      }),
      'bind',
    ],
    ['is lost with its volume', plan(claim({ volumeName: 'a' }, bound)), 'Lost ClaimLost'],
    [
      'is lost when two are bound to one',
      plan(claim({ volumeName: 'a' }, bound), { named: volume('a', '3Gi', { claimRef: other }) }),
      'Lost ClaimMisbound',
    ],
  ])('%s', (_, result, wanted) => {
    expect(result).toBe(wanted);
  });
});

describe('planVolume', () => {
  const plan = (of: Volume, by?: Claim) => {
    const action = planVolume({ volume: of, claim: by, ownProvisioner: 'trellis.dev/local-path' });
    return action.do === 'setPhase' ? action.phase : action.do;
  };
  const ours = { annotations: { 'pv.kubernetes.io/provisioned-by': 'trellis.dev/local-path' } };
  const released = (policy: string, meta: object = {}) =>
    volume('a', '3Gi', { claimRef: mine, persistentVolumeReclaimPolicy: policy }, 'Released', meta);
  test.each([
    ['is available', plan(volume('a', '1Gi', {}, 'Pending')), 'Available'],
    [
      'is available when only reserved',
      plan(volume('a', '1Gi', { claimRef: { ...mine, uid: '' } }, 'Pending')),
      'Available',
    ],
    ['is bound', plan(volume('a', '3Gi', { claimRef: mine }), claim({ volumeName: 'a' })), 'Bound'],
    ['is released when its claim is gone', plan(volume('a', '3Gi', { claimRef: mine }, 'Bound')), 'Released'],
    [
      'is released also when its own deletion was asked for, so that nothing protects it any more',
      plan(volume('a', '3Gi', { claimRef: mine }, 'Bound', { deletionTimestamp: ago(1) })),
      'Released',
    ],
    ['stays when it is to be retained', plan(released('Retain')), 'nothing'],
    ['goes when it is ours to delete', plan(released('Delete', ours)), 'delete'],
    ['is left to the one who made it', plan(released('Delete')), 'nothing'],
    ['is not recycled', plan(released('Recycle')), 'Failed'],
  ])('%s', (_, result, wanted) => {
    expect(result).toBe(wanted);
  });
});

describe('local volumes', () => {
  const options = { directory: '/data', helperImage: 'busybox' };
  const made = localVolume({ claim: claim(), storageClass: storageClass(), node: 'n1', options });
  test('are named after the claim and pinned to the node', () => {
    expect(made.metadata?.name).toBe('pvc-uid-data');
    expect(made.spec).toMatchObject({
      hostPath: { path: '/data/pvc-uid-data' },
      claimRef: { uid: 'uid-data' },
    });
  });
  test('are removed on the node where they are', () => {
    const stored = { ...volume('pvc-uid-data', '2Gi'), spec: made.spec ?? {} };
    const { spec } = removalPod(stored, options);
    expect([spec?.nodeName, spec?.containers[0]?.command, spec?.volumes?.[0]?.hostPath?.path]).toEqual([
      'n1',
      ['rm', '-rf', '/volumes/pvc-uid-data'],
      '/data',
    ]);
  });
});

describe('the directory of local volumes', () => {
  const of = (text?: string) =>
    volumeDirOf({ metadata: text === undefined ? {} : { annotations: { [VOLUME_DIR_ANNOTATION]: text } } });
  test.each([
    [undefined, undefined],
    ['/srv/two/volumes', '/srv/two/volumes'],
    ['relative', undefined],
    ['/', undefined],
    ['/srv/../etc', undefined],
    ['/srv/..data', '/srv/..data'],
  ])('is what the node says when it says %s', (text, wanted) => expect(of(text)).toBe(wanted));
});

describe('protectedFinalizers', () => {
  const going = { deletionTimestamp: ago(1), finalizers: ['f'] };
  test.each([
    ['is added', {}, false, ['f']],
    ['stays', { finalizers: ['f'] }, false, undefined],
    ['stays while it is used', going, true, undefined],
    ['goes with the last user', going, false, []],
    ['is not added to what goes', { deletionTimestamp: ago(1) }, true, undefined],
  ])('%s', (_, meta, inUse, wanted) => {
    expect(protectedFinalizers(pod('p', { meta }), 'f', inUse)).toEqual(wanted);
  });
});
