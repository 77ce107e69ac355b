// Who would have to go, where that hurts least, and the words when it does not help.
import { describe, expect, test } from 'vitest';
import type { V1Pod, V1PodDisruptionBudget } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { chooseNode, Scratch } from '../../../../src/scheduler/choose.js';
import { defaultProfile } from '../../../../src/scheduler/configuration/profiles.js';
import { FilterRun } from '../../../../src/scheduler/filterRun.js';
import { Nominations } from '../../../../src/scheduler/nominations.js';
import { podInfoOf } from '../../../../src/scheduler/podInfo.js';
import { Budgets } from '../../../../src/scheduler/preemption/budgets.js';
import { choosePreemption, type Filled, makeNode, makePod, requesting, snapshotOf } from '../support.js';

const profile = defaultProfile();
const one = (name: string) => makeNode(name, { allocatable: { cpu: '1' } });
const using = (name: string, cpu: string, priority: number, extra: Partial<V1Pod> = {}): Stored<V1Pod> => {
  const pod = requesting(name, { cpu }, { priority });
  return {
    ...pod,
    ...extra,
    metadata: { ...pod.metadata, labels: { app: name }, ...extra.metadata },
  } as Stored<V1Pod>;
};
const budget = (app: string, disruptionsAllowed: number) =>
  ({
    metadata: { name: app, namespace: 'ns', uid: '', resourceVersion: '', creationTimestamp: '' },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  }) as unknown as Stored<V1PodDisruptionBudget>;

function preempt(
  pod: Stored<V1Pod>,
  filled: readonly Filled[],
  budgets: Stored<V1PodDisruptionBudget>[] = [],
) {
  const snapshot = snapshotOf(...filled);
  const nominations = new Nominations(snapshot);
  const scratch = new Scratch();
  const info = podInfoOf(pod);
  const random = () => 0;
  const { slot } = chooseNode(info, snapshot, profile, { scratch, start: 0, random, nominations });
  expect(slot).toBe(-1);
  const before = [snapshot.podCount, ...snapshot.table.requested.map((column) => [...column])];
  const run = new FilterRun(info, snapshot, profile.filters);
  const whatIf = { pod: info, snapshot, run, nominations, budgets: new Budgets(budgets) };
  const found = choosePreemption(whatIf, { scratch, random });
  expect([snapshot.podCount, ...snapshot.table.requested.map((column) => [...column])]).toEqual(before);
  if ('message' in found) return found.message;
  const { victims } = found;
  return `${snapshot.table.names[victims.slot]}: ${victims.pods.map(({ key }) => key.slice(3)).join(' ')}`;
}

describe('the victims', () => {
  const high = using('high', '1', 10);
  const started = (name: string, at: string) => using(name, '1', 0, { status: { startTime: at } });
  test.each<readonly [string, Stored<V1Pod>, Filled[], Stored<V1PodDisruptionBudget>[], string]>([
    ['are those of lower priority', high, [[one('a'), using('x', '1', 0)]], [], 'a: x'],
    [
      'are as few as fit',
      using('p', '500m', 10),
      [[one('a'), using('x', '500m', 1), using('y', '500m', 2)]],
      [],
      'a: x',
    ],
    [
      'are of the node whose most important victim matters least',
      high,
      [
        [one('a'), using('x', '1', 5)],
        [one('b'), using('y', '1', 1)],
      ],
      [],
      'b: y',
    ],
    [
      'are fewer rather than more',
      high,
      [
        [one('a'), using('x', '500m', 0), using('w', '500m', 0)],
        [one('b'), using('y', '1', 0)],
      ],
      [],
      'b: y',
    ],
    [
      'are on a node whose budget allows it',
      high,
      [
        [one('a'), using('x', '1', 0)],
        [one('b'), using('y', '1', 5)],
      ],
      [budget('x', 0)],
      'b: y',
    ],
    [
      'break a budget when nothing else helps',
      high,
      [[one('a'), using('x', '1', 0)]],
      [budget('x', 0)],
      'a: x',
    ],
    [
      'spare the pod with a budget',
      using('p', '500m', 10),
      [[one('a'), using('x', '500m', 1), using('y', '500m', 2)]],
      [budget('x', 0)],
      'a: y',
    ],
    [
      'have run for the shortest time',
      high,
      [
        [one('a'), started('x', '2026-01-01T00:00:00Z')],
        [one('b'), started('y', '2026-01-02T00:00:00Z')],
      ],
      [],
      'b: y',
    ],
  ])('%s', (_, pod, filled, budgets, expected) => {
    expect(preempt(pod, filled, budgets)).toBe(expected);
  });
  test('hold an anti-affinity against the pod', () => {
    const foe = using('x', '100m', 0);
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'high' } } };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const spec = { ...foe.spec, affinity };
    expect(preempt(using('high', '100m', 10), [[one('a'), { ...foe, spec }, using('y', '100m', 0)]])).toBe(
      'a: x',
    );
  });
});

describe('there are none', () => {
  const pod = using('p', '1', 0);
  test.each<readonly [string, Stored<V1Pod>, Filled[], string]>([
    [
      'of lower priority',
      pod,
      [[one('a'), using('x', '1', 0)]],
      'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    ],
    [
      'that would help',
      using('p', '2', 5),
      [[one('a'), using('x', '1', 0)], [makeNode('b', { spec: { unschedulable: true } })]],
      'preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
    ],
    [
      'enough of',
      using('p', '900m', 5),
      [[one('a'), using('x', '500m', 0), using('y', '500m', 9)]],
      'preemption: 0/1 nodes are available: 1 Insufficient cpu.',
    ],
    [
      'for a pod that does not preempt',
      makePod('p', { ...using('p', '1', 5).spec, preemptionPolicy: 'Never' }),
      [[one('a'), using('x', '1', 0)]],
      'preemption: not eligible due to preemptionPolicy=Never.',
    ],
    [
      'until those on their way out are gone',
      { ...using('p', '1', 5), status: { nominatedNodeName: 'a' } } as Stored<V1Pod>,
      [[one('a'), using('x', '1', 0, { metadata: { deletionTimestamp: 'now' } })]],
      'preemption: not eligible due to a terminating pod on the nominated node.',
    ],
  ])('%s', (_, waiting, filled, message) => {
    expect(preempt(waiting, filled)).toBe(message);
  });
});

test('room that was made is kept from pods that matter less, and given to those that matter more', () => {
  const snapshot = snapshotOf([one('a')]);
  const nominations = new Nominations(snapshot);
  nominations.set(podInfoOf(using('n', '1', 5)), 'a');
  const options = { scratch: new Scratch(), start: 0, random: () => 0, nominations };
  const slotFor = (priority: number) =>
    chooseNode(podInfoOf(using('p', '1', priority)), snapshot, profile, options).slot;
  expect([slotFor(4), slotFor(5), slotFor(6)]).toEqual([-1, -1, 0]);
  nominations.remove('ns/n');
  expect(slotFor(0)).toBe(0);
});

test('a pod that made room goes there once it is free, though other nodes are emptier', () => {
  const snapshot = snapshotOf([one('a'), using('x', '500m', 0)], [one('b')]);
  const nominations = new Nominations(snapshot);
  const pod = podInfoOf(using('n', '500m', 5));
  const options = { scratch: new Scratch(), start: 0, random: () => 0, nominations };
  const chosen = () => snapshot.table.names[chooseNode(pod, snapshot, profile, options).slot];
  expect(chosen()).toBe('b');
  nominations.set(pod, 'a');
  expect(chosen()).toBe('a');
  snapshot.setPod({ ...using('y', '100m', 9), spec: { ...using('y', '100m', 9).spec, nodeName: 'a' } });
  expect(chosen()).toBe('b');
});
