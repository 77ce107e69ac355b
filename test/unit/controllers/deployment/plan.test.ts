// What a Deployment does next, and what it says of itself.
import { describe, expect, test } from 'vitest';
import type { V1DeploymentCondition } from '../../../../src/api/gen/types.js';
import { templateHash } from '../../../../src/controllers/deployment/hash.js';
import { type DeploymentAction, planDeployment } from '../../../../src/controllers/deployment/plan.js';
import type { Deployment, ReplicaSet } from '../../../../src/controllers/deployment/replicaSets.js';
import { failedCreateStatus } from '../../../../src/controllers/deployment/status.js';
import { ago, deployment, NOW, replicaSet } from '../support/objects.js';

const REVISION = 'deployment.kubernetes.io/revision';
const template = (image: string) => ({
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image }] },
});
const revision = (number: number, more: object = {}) => ({
  annotations: { [REVISION]: String(number) },
  ...more,
});
const sized = {
  'deployment.kubernetes.io/desired-replicas': '3',
  'deployment.kubernetes.io/max-replicas': '4',
};
const set = (name: string, size: number, number: number, image = 'old') =>
  replicaSet(name, size, {
    meta: { annotations: { [REVISION]: String(number), ...sized } },
    spec: { template: template(image) },
  });
const plan = (wished: Deployment, sets: readonly ReplicaSet[] = [], livePods = 0) =>
  planDeployment({ deployment: wished, sets, livePods: () => livePods, now: NOW });
const only = <D extends DeploymentAction['do']>(actions: readonly DeploymentAction[], what: D) =>
  actions.filter((action): action is Extract<DeploymentAction, { do: D }> => action.do === what);
const progress = (actions: readonly DeploymentAction[]): V1DeploymentCondition | undefined =>
  only(actions, 'updateStatus')[0]?.status.conditions?.find(({ type }) => type === 'Progressing');

describe('templateHash', () => {
  test('is stable, safe in names, and differs with the template and with collisions', () => {
    const hash = templateHash(template('a'), 0);
    expect(hash).toMatch(/^[bcdfghjklmnpqrstvwxz2456789]{10}$/);
    expect(templateHash({ spec: template('a').spec, metadata: { labels: { app: 'web' } } }, 0)).toBe(hash);
    expect(templateHash(template('b'), 0)).not.toBe(hash);
    expect(templateHash(template('a'), 1)).not.toBe(hash);
  });
});

describe('planDeployment', () => {
  test('makes the first replica set, whole, with hash, revision and owner', () => {
    const wished = deployment(3);
    const actions = plan(wished);
    const [made] = only(actions, 'createReplicaSet');
    const hash = templateHash(wished.spec.template, 0);
    expect(made?.replicaSet).toMatchObject({
      metadata: {
        name: `web-${hash}`,
        labels: { app: 'web', 'pod-template-hash': hash },
        annotations: { [REVISION]: '1', ...sized },
        ownerReferences: [{ kind: 'Deployment', uid: 'uid-web', controller: true }],
      },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'web', 'pod-template-hash': hash } },
        template: { metadata: { labels: { 'pod-template-hash': hash } } },
      },
    });
    expect(only(actions, 'setRevision')).toEqual([{ do: 'setRevision', revision: '1' }]);
    expect(progress(actions)).toMatchObject({ status: 'True', reason: 'NewReplicaSetCreated' });
  });

  test('counts on from a revision that only 64 bits hold', () => {
    const adopted = set('old', 3, 1);
    const told = { ...adopted.metadata.annotations, [REVISION]: '3546343826724305832' };
    const sets = [{ ...adopted, metadata: { ...adopted.metadata, annotations: told } }];
    const [made] = only(plan(deployment(3), sets), 'createReplicaSet');
    expect(made?.replicaSet.metadata?.annotations?.[REVISION]).toBe('3546343826724305833');
  });

  test('starts an update with what the surge allows, one revision on', () => {
    const [made] = only(plan(deployment(3, { meta: revision(1) }), [set('old', 3, 1)]), 'createReplicaSet');
    expect(made?.replicaSet).toMatchObject({
      metadata: { annotations: { [REVISION]: '2' } },
      spec: { replicas: 1 },
    });
  });

  test('goes back to an old template by making its set the newest again', () => {
    const actions = plan(deployment(3, { meta: revision(2), spec: { template: template('old') } }), [
      set('first', 0, 1),
      set('second', 3, 2, 'new'),
    ]);
    expect(only(actions, 'createReplicaSet')).toEqual([]);
    expect(only(actions, 'updateReplicaSet')[0]?.wanted).toMatchObject({
      metadata: {
        name: 'first',
        annotations: { [REVISION]: '3', 'deployment.kubernetes.io/revision-history': '1' },
      },
      spec: { replicas: 1 },
    });
    expect(only(actions, 'setRevision')).toEqual([{ do: 'setRevision', revision: '3' }]);
  });

  test('makes nothing new while paused, but scales', () => {
    const paused = deployment(5, { meta: revision(1), spec: { paused: true } });
    const actions = plan(paused, [set('old', 3, 1)]);
    expect(only(actions, 'createReplicaSet')).toEqual([]);
    expect(only(actions, 'updateReplicaSet')[0]?.wanted.spec.replicas).toBe(5);
    expect(progress(actions)).toMatchObject({ status: 'Unknown', reason: 'DeploymentPaused' });
  });

  test('waits with the new set of a recreation while old pods live', () => {
    const recreate = deployment(3, { spec: { strategy: { type: 'Recreate' } } });
    expect(only(plan(recreate, [set('old', 0, 1)], 1), 'createReplicaSet')).toEqual([]);
    expect(only(plan(recreate, [set('old', 0, 1)], 0), 'createReplicaSet')).toHaveLength(1);
  });

  test('hands its annotations down, but not those about itself', () => {
    const annotations = { note: 'x', 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    const [made] = only(plan(deployment(1, { meta: { annotations } })), 'createReplicaSet');
    expect(made?.replicaSet.metadata?.annotations).toMatchObject({ note: 'x' });
    expect(made?.replicaSet.metadata?.annotations).not.toHaveProperty(
      'kubectl.kubernetes.io/last-applied-configuration',
    );
  });

  test('deletes the lowest revisions beyond the history, once whole', () => {
    const wished = deployment(3, {
      meta: revision(4),
      spec: { revisionHistoryLimit: 1, template: template('new') },
    });
    const sets = [set('r1', 0, 1), set('r2', 0, 2, 'x'), set('r3', 0, 3, 'y'), set('now', 3, 4, 'new')];
    const names = only(plan(wished, sets), 'deleteReplicaSet').map((action) => action.set.metadata.name);
    expect(names).toEqual(['r1', 'r2']);
  });

  test('only reports when it is being deleted', () => {
    const actions = plan(deployment(3, { meta: { deletionTimestamp: ago(1) } }));
    expect(actions.map((action) => action.do)).toEqual(['updateStatus']);
  });

  test('needs nothing when everything is done', () => {
    const whole = deployment(3, { meta: revision(1), spec: { template: template('old') } });
    const sets = [set('only', 3, 1)];
    const [first] = only(plan(whole, sets), 'updateStatus');
    const again = { ...whole, status: first?.status ?? {} };
    expect(progress(plan(again, sets))).toMatchObject({ reason: 'NewReplicaSetAvailable' });
    const settled = { ...again, status: only(plan(again, sets), 'updateStatus')[0]?.status ?? {} };
    expect(plan(settled, sets)).toEqual([]);
  });
});

describe('conditions of a Deployment', () => {
  const stuck = (since: number, reason = 'ReplicaSetUpdated') =>
    deployment(3, {
      meta: revision(1),
      spec: { template: template('old') },
      status: {
        replicas: 3,
        updatedReplicas: 3,
        conditions: [
          {
            type: 'Progressing',
            status: 'True',
            reason,
            lastUpdateTime: ago(since),
            lastTransitionTime: ago(since),
          },
        ],
      },
    });
  const unready = replicaSet('only', 3, {
    meta: { annotations: { [REVISION]: '1', ...sized } },
    spec: { template: template('old') },
    status: { availableReplicas: 0, readyReplicas: 0 },
  });

  test.each([
    ['keeps waiting before the deadline', 599, 'True', 'ReplicaSetUpdated'],
    ['gives up after it', 601, 'False', 'ProgressDeadlineExceeded'],
  ])('%s', (_, since, status, reason) => {
    expect(progress(plan(stuck(since), [unready]))).toMatchObject({ status, reason });
  });

  test('calls a deployment available while enough pods are', () => {
    const [update] = only(plan(stuck(1), [unready]), 'updateStatus');
    expect(update?.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable' }),
    );
    expect(update?.status).toMatchObject({ replicas: 3, updatedReplicas: 3, unavailableReplicas: 3 });
  });

  test('passes on why pods could not be made', () => {
    const conditions = [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota' }];
    const failing = { ...unready, status: { ...unready.status, conditions } };
    const [update] = only(plan(stuck(1), [failing]), 'updateStatus');
    expect(update?.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'ReplicaFailure', status: 'True', message: 'quota' }),
    );
  });
});

describe('failedCreateStatus', () => {
  test('says that not even the ReplicaSet could be made', () => {
    const { conditions } = failedCreateStatus(deployment(1), 'quota', NOW);
    expect(conditions).toMatchObject([
      { type: 'Progressing', status: 'False', reason: 'ReplicaSetCreateError', message: 'quota' },
    ]);
  });
});
