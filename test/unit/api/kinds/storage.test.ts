// Volumes, claims, classes and what drivers tell: defaults, checks, what may change, columns.
import { describe, expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import {
  csiDriverKind,
  csiNodeKind,
  volumeAttributesClassKind,
} from '../../../../src/api/kinds/storage/csi.js';
import { persistentVolumeKind } from '../../../../src/api/kinds/storage/persistentVolume.js';
import { persistentVolumeClaimKind } from '../../../../src/api/kinds/storage/persistentVolumeClaim.js';
import { storageClassKind } from '../../../../src/api/kinds/storage/storageClass.js';
import { volumeAttachmentKind } from '../../../../src/api/kinds/storage/volumeAttachment.js';
import { validateObject } from '../../../../src/api/meta.js';
import { cellsOf, create, faultsOf, faultsOfUpdate, update } from './support.js';

const creationTimestamp = '2026-01-01T00:00:00Z';
const now = Date.parse('2026-01-01T00:01:30Z');
const cluster = { name: 'x', creationTimestamp };
const metadata = { ...cluster, namespace: 'default' };
const claim = (spec: object = {}) => ({
  metadata,
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});
const volume = (spec: object = {}) => ({
  metadata: cluster,
  spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/d' }, ...spec },
});

test('makes claims and volumes Pending, as file systems', () => {
  expect(create(persistentVolumeClaimKind, claim())).toMatchObject({
    spec: { volumeMode: 'Filesystem' },
    status: { phase: 'Pending' },
  });
  expect(create(persistentVolumeKind, volume())).toMatchObject({
    spec: { volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain', hostPath: { type: '' } },
    status: { phase: 'Pending', lastPhaseTransitionTime: '2026-01-01T00:00:00Z' },
  });
  const bound = { ...volume(), status: { phase: 'Bound' } };
  expect(update(persistentVolumeKind, volume(), bound, 'status').status).toEqual({
    phase: 'Bound',
    lastPhaseTransitionTime: '2026-01-01T00:00:00Z',
  });
});

test('says the source of a claim in both ways', () => {
  const dataSource = { kind: 'PersistentVolumeClaim', name: 'old' };
  expect(create(persistentVolumeClaimKind, claim({ dataSource })).spec?.dataSourceRef).toEqual(dataSource);
});

describe('refuses', () => {
  test.each<[string, KindDefinition, object, string[]]>([
    [
      'a claim for nothing',
      persistentVolumeClaimKind as KindDefinition,
      { metadata, spec: {} },
      [
        'spec.accessModes: Required value: at least 1 access mode is required',
        'spec.resources[storage]: Required value',
      ],
    ],
    [
      'a claim for no room',
      persistentVolumeClaimKind as KindDefinition,
      claim({ resources: { requests: { storage: '0' } } }),
      ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
    ],
    [
      'one pod and others at once',
      persistentVolumeClaimKind as KindDefinition,
      claim({ accessModes: ['ReadWriteOncePod', 'ReadOnlyMany'] }),
      ['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
    ],
    [
      'a volume of nothing',
      persistentVolumeKind as KindDefinition,
      volume({ hostPath: undefined }),
      ['spec: Required value: must specify a volume type'],
    ],
    [
      'a volume of two things',
      persistentVolumeKind as KindDefinition,
      volume({ nfs: { server: 's', path: '/p' } }),
      ['spec.nfs: Forbidden: may not specify more than 1 volume type'],
    ],
    [
      'a local volume that is nowhere',
      persistentVolumeKind as KindDefinition,
      volume({ hostPath: undefined, local: { path: '/d' } }),
      ['spec.nodeAffinity: Required value: Local volume requires node affinity'],
    ],
    [
      'a capacity of something else',
      persistentVolumeKind as KindDefinition,
      volume({ capacity: { cpu: '1' } }),
      ['spec.capacity: Unsupported value: {"cpu":"1"}: supported values: "storage"'],
    ],
    [
      'a class without a provisioner',
      storageClassKind as KindDefinition,
      { metadata: cluster },
      ['provisioner: Required value'],
    ],
    [
      'an attachment of nothing',
      volumeAttachmentKind as KindDefinition,
      { metadata: cluster, spec: { attacher: 'a.com', nodeName: 'n', source: {} } },
      ['spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName'],
    ],
    [
      'two drivers of one name',
      csiNodeKind as KindDefinition,
      {
        metadata: cluster,
        spec: {
          drivers: [
            { name: 'd', nodeID: 'n' },
            { name: 'd', nodeID: 'n' },
          ],
        },
      },
      ['spec.drivers[1].name: Duplicate value: "d"'],
    ],
    [
      'attributes without any',
      volumeAttributesClassKind as KindDefinition,
      { metadata: cluster, driverName: 'd.com' },
      ['parameters: Required value: must contain at least one key/value pair'],
    ],
  ])('%s', (_, kind, body, faults) => {
    expect(faultsOf(kind, body)).toEqual(faults);
  });
});

test('lets a bound claim grow, and nothing else', () => {
  const bound = {
    ...create(persistentVolumeClaimKind, claim({ volumeName: 'v' })),
    status: { phase: 'Bound' },
  };
  const faults = (spec: object) => {
    const next = create(persistentVolumeClaimKind, claim({ volumeName: 'v', ...spec }));
    return validateObject(persistentVolumeClaimKind, next, bound).map(({ field }) => field);
  };
  expect(faults({ resources: { requests: { storage: '2Gi' } } })).toEqual([]);
  expect(faults({ resources: { requests: { storage: '1Mi' } } })).toEqual([
    'spec.resources.requests.storage',
  ]);
  expect(faults({ accessModes: ['ReadWriteMany'] })).toEqual(['spec']);
  expect(faults({ volumeName: 'other' })).toEqual(['spec']);
  expect(faultsOfUpdate(persistentVolumeClaimKind, claim(), claim({ volumeName: 'v' }))).toEqual([]);
});

test('keeps what volumes and classes are made of', () => {
  expect(faultsOfUpdate(persistentVolumeKind, volume(), volume({ hostPath: { path: '/e' } }))).toEqual([
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
  ]);
  const storage = (fields: object) => ({ metadata: cluster, provisioner: 'a.com/p', ...fields });
  expect(faultsOfUpdate(storageClassKind, storage({}), storage({ parameters: { a: 'b' } }))).toEqual([
    'parameters: Invalid value: {"a":"b"}: field is immutable',
  ]);
  const driver = (spec: object) => ({ metadata: cluster, spec });
  expect(faultsOfUpdate(csiDriverKind, driver({}), driver({ attachRequired: false }))).toEqual([
    'spec.attachRequired: Invalid value: false: field is immutable',
  ]);
});

test('prints them as kubectl does', () => {
  const bound = { ...claim({ volumeName: 'v', volumeMode: 'Block', storageClassName: 'fast' }) };
  const status = {
    phase: 'Bound',
    capacity: { storage: '2Gi' },
    accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
  };
  expect(cellsOf(persistentVolumeClaimKind, { ...bound, status }, now)).toEqual([
    'x',
    'Bound',
    'v',
    '2Gi',
    'RWO,RWX',
    'fast',
    '<unset>',
    '90s',
    'Block',
  ]);
  const pv = volume({ claimRef: { namespace: 'n', name: 'c' } });
  expect(cellsOf(persistentVolumeKind, create(persistentVolumeKind, pv), now)).toEqual([
    'x',
    '1Gi',
    'RWO',
    'Retain',
    'Pending',
    'n/c',
    '',
    '<unset>',
    '',
    '90s',
    'Filesystem',
  ]);
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const storage = create(storageClassKind, { metadata: { ...cluster, annotations }, provisioner: 'a.com/p' });
  expect(cellsOf(storageClassKind, storage, now)).toEqual([
    'x (default)',
    'a.com/p',
    'Delete',
    'Immediate',
    'false',
    '90s',
  ]);
});
