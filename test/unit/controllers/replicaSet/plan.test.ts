// What a ReplicaSet makes, deletes and says.
import { describe, expect, test } from 'vitest';
import { REPLICA_SETS } from '../../../../src/api/resources.js';
import { podFromTemplate } from '../../../../src/controllers/ownedPods.js';
import { planReplicaSet } from '../../../../src/controllers/replicaSet/plan.js';
import { nextAvailableInMs, replicaSetStatus } from '../../../../src/controllers/replicaSet/status.js';
import { sameStatusMeaning } from '../../../../src/controllers/sameStatus.js';
import { ago, NOW, pod, replicaSet } from '../support/objects.js';

const pods = (count: number) =>
  Array.from({ length: count }, (_, index) => pod(`p${index}`, { ready: true, node: 'a' }));
const going = pod('going', { ready: true, meta: { deletionTimestamp: ago(1) } });
const plan = (replicas: number, present: ReturnType<typeof pods>, meta: object = {}) =>
  planReplicaSet({ set: replicaSet('web', replicas, { meta }), pods: present, family: present, now: NOW });

describe('planReplicaSet', () => {
  test.each([
    ['nothing when the number is right', 2, pods(2), []],
    ['the pods that are missing', 3, pods(1), [{ do: 'createPods', count: 2 }]],
    ['a replacement for one that terminates', 1, [going], [{ do: 'createPods', count: 1 }]],
    [
      'a replacement for one that failed',
      1,
      [pod('f', { phase: 'Failed' })],
      [{ do: 'createPods', count: 1 }],
    ],
    ['no more than 500 at once', 2000, [], [{ do: 'createPods', count: 500 }]],
  ])('asks for %s', (_, replicas, present, wanted) => {
    expect(plan(replicas, present)).toEqual(wanted);
  });

  test('deletes as many as there are too many, the unready first', () => {
    const [action] = plan(2, [...pods(2), pod('bad', { node: 'a' })]);
    expect(action).toMatchObject({ do: 'deletePods', pods: [{ metadata: { name: 'bad' } }] });
  });

  test.each([
    ['the number is right', 2, false],
    ['pods are missing', 3, false],
    ['there are too many', 1, true],
  ])('looks at the pods of its siblings only when some must go: %s', (_, replicas, wanted) => {
    const present = pods(2);
    let isAsked = false;
    const observed = {
      set: replicaSet('web', replicas),
      pods: present,
      get family() {
        isAsked = true;
        return present;
      },
      now: NOW,
    };
    planReplicaSet(observed);
    expect(isAsked).toBe(wanted);
  });

  test('does nothing for a set that is being deleted', () => {
    expect(plan(3, [], { deletionTimestamp: ago(1) })).toEqual([]);
  });

  test('makes pods that are named by the server and owned by the set', () => {
    const set = replicaSet('web', 1);
    expect(podFromTemplate(REPLICA_SETS, set, set.spec.template).metadata).toEqual({
      generateName: 'web-',
      namespace: 'default',
      labels: { app: 'web' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: 'web',
          uid: 'uid-web',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    });
  });
});

describe('replicaSetStatus', () => {
  const set = replicaSet('web', 3, { meta: { generation: 4 }, spec: { minReadySeconds: 30 } });
  const seen = [
    pod('old', { ready: true, readyFor: 60 }),
    pod('fresh', { ready: true, readyFor: 10 }),
    pod('other', { meta: { labels: { app: 'x' } } }),
    going,
  ];

  test('counts what is there, what is ready, and what has been ready for long enough', () => {
    expect(replicaSetStatus({ set, pods: seen, now: NOW, actedOn: true })).toEqual({
      replicas: 3,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 1,
      terminatingReplicas: 1,
      observedGeneration: 4,
    });
  });

  test('calls all that are ready available where none has to be for long, and counts nothing that has ended', () => {
    const ended = pod('ended', { phase: 'Failed', ready: true, meta: { deletionTimestamp: ago(1) } });
    const status = replicaSetStatus({
      set: replicaSet('web', 3),
      pods: [...seen, ended],
      now: NOW,
      actedOn: true,
    });
    expect(status).toMatchObject({
      replicas: 3,
      readyReplicas: 2,
      availableReplicas: 2,
      terminatingReplicas: 1,
    });
    expect(nextAvailableInMs({ set: replicaSet('web', 3), pods: seen, now: NOW })).toBeUndefined();
  });

  test('does not call a wish observed that it has not acted on', () => {
    expect(replicaSetStatus({ set, pods: seen, now: NOW, actedOn: false }).observedGeneration).toBe(1);
  });

  test('tells of a failure, and forgets it when it is over', () => {
    const failure = { reason: 'FailedCreate', message: 'quota' } as const;
    const failed = replicaSetStatus({ set, pods: [], now: NOW, actedOn: true, failure });
    expect(failed.conditions).toEqual([
      { type: 'ReplicaFailure', status: 'True', lastTransitionTime: ago(0), ...failure },
    ]);
    const healed = replicaSetStatus({ set: { ...set, status: failed }, pods: [], now: NOW, actedOn: true });
    expect(healed.conditions).toBeUndefined();
    expect(sameStatusMeaning(failed, healed)).toBe(false);
  });

  test('says when the next pod becomes available', () => {
    expect(nextAvailableInMs({ set, pods: seen, now: NOW })).toBe(20_000);
    expect(nextAvailableInMs({ set, pods: [], now: NOW })).toBeUndefined();
  });
});
