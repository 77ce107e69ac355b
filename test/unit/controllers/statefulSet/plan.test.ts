// The order in which a StatefulSet makes, removes and updates its pods, and what becomes of their claims.
import { describe, expect, test } from 'vitest';
import type { V1StatefulSet } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { claimsOf, ordinalOf, statefulPod } from '../../../../src/controllers/statefulSet/identity.js';
import { maxUnavailableOf, planStatefulSet } from '../../../../src/controllers/statefulSet/plan.js';
import { claimOwners, isStale } from '../../../../src/controllers/statefulSet/retention.js';
import { statefulSetStatus } from '../../../../src/controllers/statefulSet/status.js';
import { ago, NOW, pod } from '../support/objects.js';

const template = { metadata: { labels: { app: 'db' } }, spec: { containers: [] } };

function statefulSet(replicas: number, more: object = {}, status: object = {}): Stored<V1StatefulSet> {
  return {
    metadata: {
      name: 'db',
      namespace: 'default',
      uid: 'uid-db',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: ago(60),
    },
    spec: { replicas, serviceName: 'db', selector: { matchLabels: { app: 'db' } }, template, ...more },
    status: { replicas: 0, ...status },
  };
}

const old = { revision: 'db-old', template };
const fresh = { revision: 'db-new', template };
const member = (ordinal: number, revision = 'db-new', wish: Parameters<typeof pod>[1] = {}) =>
  pod(`db-${ordinal}`, {
    ready: true,
    node: 'n',
    ...wish,
    meta: { labels: { app: 'db', 'controller-revision-hash': revision }, ...wish.meta },
  });
const going = { meta: { deletionTimestamp: ago(1) } };
const unready = { ready: false };
const plan = (set: Stored<V1StatefulSet>, pods: ReturnType<typeof pod>[]) =>
  planStatefulSet({ set, pods, current: old, update: fresh, now: NOW }).map((action) =>
    action.do === 'create'
      ? `make ${action.ordinal} from ${action.from.revision}`
      : `delete ${action.pod.metadata.name}`,
  );
const parallel = { podManagementPolicy: 'Parallel' };
const rolling = (rollingUpdate: object, more: object = {}) => ({
  updateStrategy: { type: 'RollingUpdate', rollingUpdate },
  ...more,
});

describe('planStatefulSet', () => {
  test.each([
    ['begins with the first', statefulSet(3), [], ['make 0 from db-new']],
    ['begins where it is told to', statefulSet(2, { ordinals: { start: 5 } }), [], ['make 5 from db-new']],
    ['waits until the one before is ready', statefulSet(3), [member(0, 'db-new', unready)], []],
    ['goes on when it is', statefulSet(3), [member(0)], ['make 1 from db-new']],
    ['fills a gap first', statefulSet(3), [member(0), member(2)], ['make 1 from db-new']],
    ['waits for one that terminates', statefulSet(2), [member(0, 'db-new', going)], []],
    [
      'makes all at once when they are parallel',
      statefulSet(2, parallel),
      [],
      ['make 0 from db-new', 'make 1 from db-new'],
    ],
    [
      'replaces one that has ended',
      statefulSet(2),
      [member(0, 'db-new', { phase: 'Failed' }), member(1)],
      ['delete db-0'],
    ],
    ['removes the highest first', statefulSet(1), [member(0), member(1), member(2)], ['delete db-2']],
    ['one at a time', statefulSet(1), [member(0), member(1), member(2, 'db-new', going)], []],
    [
      'removes no healthy one while one before it is not',
      statefulSet(1),
      [member(0, 'db-new', unready), member(1)],
      [],
    ],
    [
      'removes all at once when they are parallel',
      statefulSet(1, parallel),
      [member(0), member(1), member(2)],
      ['delete db-2', 'delete db-1'],
    ],
    [
      'removes those below its start',
      statefulSet(1, { ordinals: { start: 1 } }),
      [member(0), member(1)],
      ['delete db-0'],
    ],
  ])('%s', (_, set, pods, wanted) => {
    expect(plan(set, pods)).toEqual(wanted);
  });
});

describe('the update of a StatefulSet', () => {
  const three = [0, 1, 2].map((ordinal) => member(ordinal, 'db-old'));
  test.each([
    ['begins at the top', statefulSet(3), three, ['delete db-2']],
    ['waits for the new one', statefulSet(3), [...three.slice(0, 2), member(2, 'db-new', unready)], []],
    ['goes down', statefulSet(3), [...three.slice(0, 2), member(2)], ['delete db-1']],
    [
      'leaves what is below the partition',
      statefulSet(3, rolling({ partition: 2 })),
      [...three.slice(0, 2), member(2)],
      [],
    ],
    [
      'makes what is below the partition from the old template',
      statefulSet(3, rolling({ partition: 2 })),
      [member(0, 'db-old'), member(2)],
      ['make 1 from db-old'],
    ],
    [
      'leaves all to the user with OnDelete',
      statefulSet(3, { updateStrategy: { type: 'OnDelete' } }),
      three,
      [],
    ],
    [
      'takes as many as may be unavailable',
      statefulSet(3, rolling({ maxUnavailable: 2 })),
      three,
      ['delete db-2', 'delete db-1'],
    ],
    [
      'counts those that are unavailable already',
      statefulSet(3, rolling({ maxUnavailable: 2 }, parallel)),
      [...three.slice(0, 2), member(2, 'db-new', unready)],
      ['delete db-1'],
    ],
    [
      'replaces a broken one at once when they are parallel',
      statefulSet(3, parallel),
      [member(0, 'db-old', unready), ...three.slice(1)],
      ['delete db-0'],
    ],
  ])('%s', (_, set, pods, wanted) => {
    expect(plan(set, pods)).toEqual(wanted);
  });

  test.each([
    [undefined, 1],
    [3, 3],
    ['25%', 2],
    ['1%', 1],
  ])('maxUnavailable %s of 10 is %i', (maxUnavailable, wanted) => {
    expect(maxUnavailableOf(statefulSet(10, rolling({ maxUnavailable })))).toBe(wanted);
  });
});

describe('identity', () => {
  const set = statefulSet(1, {
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }],
  });
  test('gives name, host name, labels and claims', () => {
    const made = statefulPod({ set, ordinal: 3, ...fresh });
    expect(made.metadata).toMatchObject({
      name: 'db-3',
      labels: {
        'statefulset.kubernetes.io/pod-name': 'db-3',
        'apps.kubernetes.io/pod-index': '3',
        'controller-revision-hash': 'db-new',
      },
    });
    expect(made.spec).toMatchObject({
      hostname: 'db-3',
      subdomain: 'db',
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data-db-3' } }],
    });
    expect(claimsOf(set, 3)[0]?.metadata).toMatchObject({ name: 'data-db-3', labels: { app: 'db' } });
  });
  test.each([
    ['db-0', 0],
    ['db-12', 12],
    ['db-01', undefined],
    ['db-x', undefined],
    ['web-0', undefined],
  ])('%s is number %s', (name, wanted) => {
    expect(ordinalOf(set, name)).toBe(wanted);
  });
});

describe('claim retention', () => {
  const claim = (owners: object[] = []) => ({
    metadata: { ...pod('data-db-0').metadata, ownerReferences: owners as never },
    spec: {},
    status: {},
  });
  const controls = { controller: true, blockOwnerDeletion: true };
  const bySet = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'uid-db', ...controls };
  const byPod = { apiVersion: 'v1', kind: 'Pod', name: 'db-0', uid: 'uid-db-0', ...controls };
  const byOther = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' };
  const { controller: _, ...plain } = bySet;
  const owners = (policy: object, isCondemned: boolean, present: object[]) =>
    claimOwners({
      set: statefulSet(1, { persistentVolumeClaimRetentionPolicy: policy }),
      claim: claim(present),
      pod: member(0),
      isCondemned,
    });
  test.each([
    ['nobody by default', {}, false, [], undefined],
    ['nobody any more, when that is asked', {}, false, [bySet], []],
    ['the set', { whenDeleted: 'Delete' }, false, [], [bySet]],
    ['the set also when scaled', { whenDeleted: 'Delete' }, true, [bySet], undefined],
    ['the pod that is scaled away', { whenScaled: 'Delete' }, true, [], [byPod]],
    ['nobody while the pod stays', { whenScaled: 'Delete' }, false, [byPod], []],
    ['the set as its controller', { whenDeleted: 'Delete' }, false, [plain], [bySet]],
    [
      'the set beside one that does not control it',
      { whenDeleted: 'Delete' },
      false,
      [byOther],
      [byOther, bySet],
    ],
    ['another controller alone', { whenDeleted: 'Delete' }, false, [{ ...byOther, ...controls }], undefined],
    [
      'another controller, and the set no longer',
      { whenDeleted: 'Delete' },
      false,
      [{ ...byOther, ...controls }, plain],
      [{ ...byOther, ...controls }],
    ],
    [
      'an earlier set of the name, untouched',
      { whenDeleted: 'Delete' },
      false,
      [{ ...bySet, uid: 'old' }],
      undefined,
    ],
    ['the pod instead of the set', { whenDeleted: 'Delete', whenScaled: 'Delete' }, true, [bySet], [byPod]],
  ])('%s', (_, policy, isCondemned, present, wanted) => {
    expect(owners(policy, isCondemned, present)).toEqual(wanted);
  });
  test('tells a claim of an earlier pod', () => {
    expect([
      isStale(claim([{ ...byPod, uid: 'x' }]), 'db-0', undefined),
      isStale(claim(), 'db-0', undefined),
    ]).toEqual([true, false]);
  });
});

describe('statefulSetStatus', () => {
  const seen = (pods: ReturnType<typeof pod>[]) =>
    statefulSetStatus({ set: statefulSet(2), pods, current: old, update: fresh, now: NOW, actedOn: true });
  test('counts by revision', () => {
    expect(seen([member(0, 'db-old'), member(1, 'db-new', unready)])).toMatchObject({
      replicas: 2,
      readyReplicas: 1,
      currentReplicas: 1,
      updatedReplicas: 1,
      currentRevision: 'db-old',
      updateRevision: 'db-new',
    });
  });
  test('calls the new revision current when all are of it and ready', () => {
    expect(seen([member(0), member(1)])).toMatchObject({ currentRevision: 'db-new', currentReplicas: 2 });
  });
});
