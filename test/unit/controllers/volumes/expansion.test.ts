// When a claim that asks for more gets it.
import { expect, test } from 'vitest';
import { planExpansion } from '../../../../src/controllers/volumes/expansion.js';
import type { Claim, StorageClass, Volume } from '../../../../src/controllers/volumes/match.js';

const claim = (storage: string, phase = 'Bound') =>
  ({
    metadata: { name: 'data', namespace: 'n', uid: 'c' },
    spec: { resources: { requests: { storage } }, volumeName: 'v' },
    status: { phase },
  }) as unknown as Claim;
const volume = (uid = 'c') =>
  ({
    metadata: { name: 'v', annotations: { 'pv.kubernetes.io/provisioned-by': 'trellis.dev/local-path' } },
    spec: { capacity: { storage: '1Gi' }, claimRef: { name: 'data', namespace: 'n', uid } },
  }) as unknown as Volume;
const storageClass = (allowVolumeExpansion: boolean, provisioner = 'trellis.dev/local-path') =>
  ({ metadata: { name: 's' }, provisioner, allowVolumeExpansion }) as unknown as StorageClass;
const foreign = { ...volume(), metadata: { name: 'v' } } as unknown as Volume;

test.each([
  ['more than there is', claim('2Gi'), volume(), storageClass(true), { do: 'grow', storage: '2Gi' }],
  ['what is there', claim('1024Mi'), volume(), storageClass(true), { do: 'nothing' }],
  ['less', claim('1Mi'), volume(), storageClass(true), { do: 'nothing' }],
  ['more, of a class that does not allow it', claim('2Gi'), volume(), storageClass(false), { do: 'nothing' }],
  ['more, without a class', claim('2Gi'), volume(), undefined, { do: 'nothing' }],
  ['more, not bound yet', claim('2Gi', 'Pending'), volume(), storageClass(true), { do: 'nothing' }],
  ["more of another's volume", claim('2Gi'), volume('x'), storageClass(true), { do: 'nothing' }],
  [
    'more of what others provide',
    claim('2Gi'),
    foreign,
    storageClass(true, 'csi.example.org'),
    { do: 'wait', provisioner: 'csi.example.org' },
  ],
])('%s', (_, asking, its, ofClass, action) => {
  expect(planExpansion({ claim: asking, volume: its, storageClass: ofClass })).toEqual(action);
});
