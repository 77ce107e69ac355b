// Volumes and the nodes from which they can be had, as tables.
import { describe, expect, test } from 'vitest';
import type {
  V1PersistentVolumeClaimSpec,
  V1PersistentVolumeSpec,
  V1Volume,
} from '../../../src/api/gen/types.js';
import type { Plugin } from '../../../src/scheduler/plugin.js';
import { nodeVolumeLimits } from '../../../src/scheduler/plugins/nodeVolumeLimits.js';
import { planVolumes, volumeBinding } from '../../../src/scheduler/plugins/volumeBinding.js';
import { volumeRestrictions } from '../../../src/scheduler/plugins/volumeRestrictions.js';
import { volumeZone } from '../../../src/scheduler/plugins/volumeZone.js';
import { podInfoOf } from '../../../src/scheduler/podInfo.js';
import {
  type Catalog,
  type Claim,
  emptyCatalog,
  type Volume,
} from '../../../src/scheduler/snapshot/catalog.js';
import { makeNode, makePod, refusalsOf, snapshotOf } from './support.js';

const ZONE = 'topology.kubernetes.io/zone';
const meta = (name: string, extra = {}) => ({
  name,
  namespace: 'ns',
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '',
  ...extra,
});
const claim = (name: string, spec: Partial<V1PersistentVolumeClaimSpec>, extra = {}) =>
  ({
    metadata: meta(name, extra),
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    status: { phase: spec.volumeName === undefined ? 'Pending' : 'Bound' },
  }) as unknown as Claim;
const volume = (
  name: string,
  spec: Partial<V1PersistentVolumeSpec> = {},
  labels: Record<string, string> = {},
) =>
  ({
    metadata: meta(name, { labels }),
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName: 'local',
      ...spec,
    },
    status: { phase: 'Available' },
  }) as unknown as Volume;
const onNode = (name: string) => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] },
      ],
    },
  },
});

const classes: Record<string, object> = {
  local: { provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' },
  made: {
    provisioner: 'csi.example.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ['one'] }] }],
  },
  anywhere: { provisioner: 'csi.example.com', volumeBindingMode: 'WaitForFirstConsumer' },
  immediate: { provisioner: 'csi.example.com', volumeBindingMode: 'Immediate' },
};
function catalogOf(claims: Claim[], volumes: Volume[], limit?: number): Catalog {
  return {
    ...emptyCatalog,
    claim: (_, name) => claims.find(({ metadata }) => metadata.name === name),
    volume: (name) => volumes.find(({ metadata }) => metadata.name === name),
    volumesOfClass: (name) =>
      volumes.filter(({ spec }) => spec.claimRef === undefined && spec.storageClassName === name),
    volumesFor: (namespace, name) =>
      volumes.filter(({ spec }) => spec.claimRef?.name === name && spec.claimRef.namespace === namespace),
    storageClass: (name) => classes[name] as never,
    csiNode: () =>
      (limit === undefined
        ? undefined
        : {
            spec: { drivers: [{ name: 'csi.example.com', nodeID: 'n', allocatable: { count: limit } }] },
          }) as never,
  };
}
const using = (name: string, ...names: string[]) =>
  makePod(name, {
    volumes: names.map((claimName): V1Volume => ({ name: claimName, persistentVolumeClaim: { claimName } })),
  });
const cluster = (catalog: Catalog, ...held: ReturnType<typeof makePod>[]) => {
  const snapshot = snapshotOf(
    [makeNode('a', { labels: { [ZONE]: 'one' } }), ...held],
    [makeNode('b', { labels: { [ZONE]: 'two' } })],
  );
  snapshot.catalog = catalog;
  return snapshot;
};
const both = (
  plugin: Plugin,
  pod: ReturnType<typeof makePod>,
  catalog: Catalog,
  ...held: ReturnType<typeof makePod>[]
) => ['a', 'b'].map((node) => refusalsOf(plugin, pod, cluster(catalog, ...held), node).join());

describe('VolumeBinding', () => {
  const affinity = "node(s) didn't match PersistentVolume's node affinity";
  const nothing = "node(s) didn't find available persistent volumes to bind";
  const bound = claim('c', { volumeName: 'v' });
  test.each<readonly [string, Claim[], Volume[], string, string]>([
    ['no such claim', [], [], 'persistentvolumeclaim "c" not found', 'persistentvolumeclaim "c" not found'],
    [
      'a claim that goes',
      [claim('c', { volumeName: 'v' }, { deletionTimestamp: 'now' })],
      [],
      'persistentvolumeclaim "c" is being deleted',
      'persistentvolumeclaim "c" is being deleted',
    ],
    [
      'not bound and not waiting',
      [claim('c', { storageClassName: 'immediate' })],
      [],
      'pod has unbound immediate PersistentVolumeClaims',
      'pod has unbound immediate PersistentVolumeClaims',
    ],
    ['bound to what is anywhere', [bound], [volume('v')], '', ''],
    ['bound to what is on one node', [bound], [volume('v', onNode('a'))], '', affinity],
    [
      'bound to nothing',
      [bound],
      [],
      'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
      'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
    ],
    [
      'a local volume to be had',
      [claim('c', { storageClassName: 'local' })],
      [volume('v', onNode('b'))],
      nothing,
      '',
    ],
    [
      'one that is too small',
      [claim('c', { storageClassName: 'local' })],
      [volume('v', { ...onNode('b'), capacity: { storage: '1Mi' } })],
      nothing,
      nothing,
    ],
    [
      'one that is taken',
      [claim('c', { storageClassName: 'local' })],
      [volume('v', { claimRef: { name: 'other', namespace: 'ns' } })],
      nothing,
      nothing,
    ],
    ['one to be made in a zone', [claim('c', { storageClassName: 'made' })], [], '', nothing],
    [
      'one being made for a node',
      [
        claim(
          'c',
          { storageClassName: 'made' },
          { annotations: { 'volume.kubernetes.io/selected-node': 'b' } },
        ),
      ],
      [],
      nothing,
      nothing,
    ],
  ])('%s', (_, claims, volumes, onA, onB) => {
    expect(both(volumeBinding, using('p', 'c'), catalogOf(claims, volumes))).toEqual([onA, onB]);
  });
  test.each<readonly [string, object[], string, string]>([
    ['nothing told', [], 'full', 'full'],
    ['room in one zone', [{ capacity: '5Gi', nodeTopology: { matchLabels: { [ZONE]: 'two' } } }], 'full', ''],
    ['too little room', [{ capacity: '1Mi', nodeTopology: {} }], 'full', 'full'],
    [
      'room, but not in one piece',
      [{ capacity: '5Gi', maximumVolumeSize: '1Mi', nodeTopology: {} }],
      'full',
      'full',
    ],
    ['room that is reached from nowhere', [{ capacity: '5Gi' }], 'full', 'full'],
    ['room everywhere', [{ capacity: '5Gi', nodeTopology: {} }], '', ''],
  ])('a driver that tells its capacity: %s', (_, capacities, onA, onB) => {
    const catalog = (tells: boolean): Catalog => ({
      ...catalogOf([claim('c', { storageClassName: 'anywhere' })], []),
      tellsCapacity: () => tells,
      capacitiesOfClass: () => capacities as never,
    });
    const words = (full: string) => (full === '' ? '' : 'node(s) did not have enough free storage');
    expect(both(volumeBinding, using('p', 'c'), catalog(true))).toEqual([words(onA), words(onB)]);
    expect(both(volumeBinding, using('p', 'c'), catalog(false))).toEqual(['', '']);
  });
  test('plans two claims onto two volumes, the smallest that does first, and leaves alone what is promised', () => {
    const claims = [claim('c', { storageClassName: 'local' }), claim('d', { storageClassName: 'local' })];
    const volumes = [
      volume('big', { capacity: { storage: '9Gi' } }),
      volume('small'),
      volume('middle', { capacity: { storage: '2Gi' } }),
    ];
    const snapshot = cluster(catalogOf(claims, volumes));
    const plan = () =>
      planVolumes(podInfoOf(using('p', 'c', 'd')), snapshot, 0)?.bindings.map(({ volume: name }) => name);
    expect(plan()).toEqual(['small', 'middle']);
    snapshot.reservedVolumes.set('small', 'uid-of-another');
    expect(plan()).toEqual(['middle', 'big']);
  });
});

test('VolumeZone keeps a pod in the zones of its volume', () => {
  const catalog = (zone: string) =>
    catalogOf([claim('c', { volumeName: 'v' })], [volume('v', {}, { [ZONE]: zone })]);
  expect(both(volumeZone, using('p', 'c'), catalog('two'))).toEqual([
    'node(s) had no available volume zone',
    '',
  ]);
  expect(both(volumeZone, using('p', 'c'), catalog('one__two'))).toEqual(['', '']);
});

test('VolumeZone wants the zone and the region of a volume, not one of them', () => {
  const labels = { [ZONE]: 'two', 'topology.kubernetes.io/region': 'far' };
  const catalog = catalogOf([claim('c', { volumeName: 'v' })], [volume('v', {}, labels)]);
  const refused = 'node(s) had no available volume zone';
  expect(both(volumeZone, using('p', 'c'), catalog)).toEqual([refused, refused]);
});

test('VolumeZone refuses a zone that no node has, and holds no node to it that knows no zones', () => {
  const unknown = catalogOf([claim('c', { volumeName: 'v' })], [volume('v', {}, { [ZONE]: 'nowhere' })]);
  const refused = 'node(s) had no available volume zone';
  expect(both(volumeZone, using('p', 'c'), unknown)).toEqual([refused, refused]);
  const withBare = snapshotOf(
    [makeNode('a', { labels: { [ZONE]: 'one' } })],
    [makeNode('b', { labels: { [ZONE]: 'two' } })],
    [makeNode('bare')],
  );
  withBare.catalog = unknown;
  expect(refusalsOf(volumeZone, using('p', 'c'), withBare, 'bare')).toEqual([]);
  expect(refusalsOf(volumeZone, using('p', 'c'), withBare, 'b')).toEqual([refused]);
});

test('NodeVolumeLimits counts each volume of a driver once', () => {
  const csi = (name: string) => volume(name, { csi: { driver: 'csi.example.com', volumeHandle: name } });
  const claims = ['v', 'w', 'x'].map((name) => claim(name, { volumeName: name }));
  const catalog = catalogOf(claims, ['v', 'w', 'x'].map(csi), 2);
  const held = using('q', 'v', 'w');
  expect(both(nodeVolumeLimits, using('p', 'v'), catalog, held)).toEqual(['', '']);
  expect(both(nodeVolumeLimits, using('p', 'x'), catalog, held)).toEqual([
    'node(s) exceed max volume count',
    '',
  ]);
});

describe('VolumeRestrictions', () => {
  const disk = (readOnly: boolean): V1Volume => ({
    name: 'd',
    gcePersistentDisk: { pdName: 'disk', readOnly },
  });
  const noDisk = 'node(s) had no available disk';
  test.each([
    ['one writes', true, false, [noDisk, '']],
    ['both write', false, false, [noDisk, '']],
    ['both read', true, true, ['', '']],
  ])('a disk where %s', (_, first, second, expected) => {
    const [pod, held] = [makePod('p', { volumes: [disk(first)] }), makePod('q', { volumes: [disk(second)] })];
    expect(both(volumeRestrictions, pod, emptyCatalog, held)).toEqual(expected);
  });
  test('a claim for one pod only', () => {
    const catalog = catalogOf([claim('c', { volumeName: 'v', accessModes: ['ReadWriteOncePod'] })], []);
    const taken =
      'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';
    expect(both(volumeRestrictions, using('p', 'c'), catalog, using('q', 'c'))).toEqual([taken, taken]);
    expect(both(volumeRestrictions, using('p', 'c'), catalog)).toEqual(['', '']);
  });
});
