// Where a DaemonSet's pods come and go, and how an update moves over the nodes.
import { describe, expect, test } from 'vitest';
import type { V1DaemonSet } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { belongsOn, daemonPod, targetNode } from '../../../../src/controllers/daemonSet/nodes.js';
import { planDaemonSet } from '../../../../src/controllers/daemonSet/plan.js';
import { limitsOf } from '../../../../src/controllers/daemonSet/rollingUpdate.js';
import { daemonSetStatus } from '../../../../src/controllers/daemonSet/status.js';
import { ago, NOW, node, pod } from '../support/objects.js';

function daemonSet(more: object = {}, spec: object = {}): Stored<V1DaemonSet> {
  return {
    metadata: {
      name: 'agent',
      namespace: 'default',
      uid: 'uid-agent',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: ago(60),
    },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [], ...spec } },
      ...more,
    },
    status: { currentNumberScheduled: 0, desiredNumberScheduled: 0, numberMisscheduled: 0, numberReady: 0 },
  };
}

const on = (name: string, hash = 'new', wish: Parameters<typeof pod>[1] = {}) =>
  pod(wish.meta === undefined ? `${hash}-${name}` : `${hash}-${name}-x`, {
    ready: true,
    node: name,
    ...wish,
    meta: { labels: { app: 'web', 'controller-revision-hash': hash }, ...wish.meta },
  });
const nodes = (...names: string[]) => names.map((name) => node(name, 'True'));
const plan = (set: Stored<V1DaemonSet>, present: ReturnType<typeof pod>[], where = nodes('a', 'b', 'c')) => {
  const { create, remove } = planDaemonSet({ set, nodes: where, pods: present, hash: 'new', now: NOW });
  return { create, remove: remove.map(({ metadata }) => metadata.name) };
};
const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
const going = { meta: { deletionTimestamp: ago(1) } };

describe('belongsOn', () => {
  const tainted = (key: string, effect: string) => node('a', 'True', { spec: { taints: [{ key, effect }] } });
  test.each([
    ['an ordinary node', daemonSet(), node('a', 'True'), [true, true]],
    [
      'a node that its selector leaves out',
      daemonSet({}, { nodeSelector: { disk: 'ssd' } }),
      node('a', 'True'),
      [false, false],
    ],
    ['a foreign NoSchedule taint', daemonSet(), tainted('example.com/x', 'NoSchedule'), [false, true]],
    ['a foreign NoExecute taint', daemonSet(), tainted('example.com/x', 'NoExecute'), [false, false]],
    ['a silent node', daemonSet(), tainted('node.kubernetes.io/unreachable', 'NoExecute'), [true, true]],
    ['a cordoned node', daemonSet(), tainted('node.kubernetes.io/unschedulable', 'NoSchedule'), [true, true]],
    [
      'a node without network',
      daemonSet(),
      tainted('node.kubernetes.io/network-unavailable', 'NoSchedule'),
      [false, true],
    ],
    [
      'a node without network, for the host network',
      daemonSet({}, { hostNetwork: true }),
      tainted('node.kubernetes.io/network-unavailable', 'NoSchedule'),
      [true, true],
    ],
    [
      'another node than the one it is pinned to',
      daemonSet({}, { nodeName: 'z' }),
      node('a', 'True'),
      [false, false],
    ],
  ])('%s', (_, set, where, [shouldRun, mayStay]) => {
    expect(belongsOn(set, where)).toEqual({ shouldRun, mayStay });
  });

  test('names the node in the affinity, so that the scheduler binds it', () => {
    const made = daemonPod(daemonSet(), 'a', 'new');
    expect(made.metadata?.labels?.['controller-revision-hash']).toBe('new');
    expect(made.spec?.nodeName).toBeUndefined();
    expect(targetNode({ ...pod('x'), spec: made.spec ?? { containers: [] } })).toBe('a');
  });
});

describe('planDaemonSet', () => {
  test.each([
    ['makes one on each node that has none', [on('a')], { create: ['b', 'c'], remove: [] }],
    ['waits for one that terminates', [on('a'), on('b'), on('c', 'new', going)], { create: [], remove: [] }],
    [
      'removes one that failed, and makes another only when it is gone',
      [on('a'), on('b'), on('c', 'new', { phase: 'Failed' })],
      { create: [], remove: ['new-c'] },
    ],
    [
      'keeps the oldest of two',
      [on('a'), on('b'), on('c'), on('c', 'new', { meta: { creationTimestamp: ago(1) } })],
      { create: [], remove: ['new-c-x'] },
    ],
    ['leaves nodes alone that are up to date', [on('a'), on('b'), on('c')], { create: [], remove: [] }],
  ])('%s', (_, present, wanted) => {
    expect(plan(daemonSet(), present)).toEqual(wanted);
  });

  test('leaves a node that a taint now keeps new pods from, and clears one that drives them off', () => {
    const where = [
      node('a', 'True', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
      node('b', 'True', { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } }),
    ];
    expect(plan(daemonSet(), [on('a'), on('b')], where)).toEqual({ create: [], remove: ['new-b'] });
  });

  test('does nothing when it is being deleted', () => {
    const set = daemonSet();
    const doomed = { ...set, metadata: { ...set.metadata, deletionTimestamp: ago(1) } };
    expect(plan(doomed, [])).toEqual({ create: [], remove: [] });
  });
});

describe('the update of a DaemonSet', () => {
  const old = ['a', 'b', 'c'].map((name) => on(name, 'old'));
  test.each([
    ['takes one at a time by default', {}, old, { create: [], remove: ['old-a'] }],
    [
      'takes as many as may be unavailable, percentages rounded up',
      rolling({ maxUnavailable: '34%' }),
      old,
      { create: [], remove: ['old-a', 'old-b'] },
    ],
    [
      'waits while one is unavailable',
      {},
      [on('a', 'new', { ready: false }), ...old.slice(1)],
      { create: [], remove: [] },
    ],
    [
      'replaces one that does not work, whatever the limit',
      {},
      [on('a', 'new', { ready: false }), on('b', 'old', { ready: false }), on('c', 'old')],
      { create: [], remove: ['old-b'] },
    ],
    [
      'goes on with the other nodes while the pod of one has ended',
      rolling({ maxUnavailable: 2 }),
      [on('a', 'new', { ready: false, phase: 'Failed' }), ...old.slice(1)],
      { create: [], remove: ['new-a', 'old-b'] },
    ],
    [
      'removes an old pod that has ended once',
      {},
      [on('a', 'old', { ready: false, phase: 'Failed' }), on('b'), on('c')],
      { create: [], remove: ['old-a'] },
    ],
    [
      'leaves all to the user with OnDelete',
      { updateStrategy: { type: 'OnDelete' } },
      old,
      { create: [], remove: [] },
    ],
    [
      'makes the new one first when it may surge',
      rolling({ maxSurge: 1, maxUnavailable: 0 }),
      old,
      { create: ['a'], remove: [] },
    ],
    [
      'removes the old one when the surged one is available',
      rolling({ maxSurge: 1, maxUnavailable: 0 }),
      [on('a', 'new'), ...old],
      { create: [], remove: ['old-a'] },
    ],
    [
      'keeps the old one while the surged one starts',
      rolling({ maxSurge: 1, maxUnavailable: 0 }),
      [on('a', 'new', { ready: false }), ...old],
      { create: [], remove: [] },
    ],
    [
      'removes an old one that is not ready as soon as the new one is there',
      rolling({ maxSurge: 1, maxUnavailable: 0 }),
      [on('a', 'new', { ready: false }), on('a', 'old', { ready: false }), ...old.slice(1)],
      { create: [], remove: ['old-a'] },
    ],
  ])('%s', (_, more, present, wanted) => {
    expect(plan(daemonSet(more), present)).toEqual(wanted);
  });

  test('can always move', () => {
    const set = daemonSet(rolling({ maxSurge: 0, maxUnavailable: '0%' }));
    expect(limitsOf(set, 3)).toEqual({ maxSurge: 0, maxUnavailable: 1 });
  });
});

describe('daemonSetStatus', () => {
  test('counts nodes', () => {
    const where = [
      ...nodes('a', 'b', 'c'),
      node('d', 'True', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
    ];
    const pods = [on('a'), on('b', 'old', { ready: false }), on('d')];
    const set = daemonSet();
    expect(daemonSetStatus({ set, nodes: where, pods, hash: 'new', now: NOW, actedOn: true })).toEqual({
      desiredNumberScheduled: 3,
      currentNumberScheduled: 2,
      numberMisscheduled: 1,
      numberReady: 1,
      numberAvailable: 1,
      numberUnavailable: 2,
      updatedNumberScheduled: 1,
      observedGeneration: 1,
    });
  });
});
