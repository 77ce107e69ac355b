// The choice among nodes, and the sentence when there is none.
import { describe, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { chooseNode, feasibleToFind, Scratch } from '../../../src/scheduler/choose.js';
import { defaultProfile } from '../../../src/scheduler/configuration/profiles.js';
import { diagnosisMessage } from '../../../src/scheduler/diagnosis.js';
import { podInfoOf } from '../../../src/scheduler/podInfo.js';
import { type Filled, makeNode, makePod, requesting, snapshotOf } from './support.js';

const nodeWith = (...filled: Filled): Filled => filled;
const choose = (pod: Stored<V1Pod>, nodes: Filled[], random = 0) => {
  const snapshot = snapshotOf(...nodes);
  const options = { scratch: new Scratch(), start: 0, random: () => random };
  return { snapshot, ...chooseNode(podInfoOf(pod), snapshot, defaultProfile(), options) };
};
const chosen = (pod: Stored<V1Pod>, nodes: Filled[], random?: number) => {
  const { slot, diagnosis, snapshot } = choose(pod, nodes, random);
  return diagnosis === undefined ? snapshot.table.names[slot] : diagnosisMessage(diagnosis);
};

describe('the chosen node', () => {
  const busy = requesting('q', { cpu: '3', memory: '6Gi' });
  const prefer = { key: 'k', effect: 'PreferNoSchedule' };
  const wish = {
    weight: 10,
    preference: { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] },
  };
  test.each<readonly [string, Stored<V1Pod>, Filled[], string]>([
    ['is the emptier one', makePod('p'), [nodeWith(makeNode('a'), busy), nodeWith(makeNode('b'))], 'b'],
    [
      'is the emptier one though its pods request nothing',
      makePod('p'),
      [nodeWith(makeNode('a'), makePod('x'), makePod('y'), makePod('z')), nodeWith(makeNode('b'))],
      'b',
    ],
    [
      'is one without a taint that asks to stay away',
      makePod('p'),
      [nodeWith(makeNode('a', { spec: { taints: [prefer] } })), nodeWith(makeNode('b'), busy)],
      'b',
    ],
    [
      'is one that the pod wishes for',
      makePod('p', {
        affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [wish] } },
      }),
      [nodeWith(makeNode('a')), nodeWith(makeNode('b', { labels: { disk: 'ssd' } }))],
      'b',
    ],
    [
      'keeps cpu and memory in step',
      requesting('p', { cpu: '1', memory: '256Mi' }),
      [
        nodeWith(makeNode('a'), requesting('q', { cpu: '2', memory: '1Gi' })),
        nodeWith(makeNode('b'), requesting('r', { cpu: '250m', memory: '4608Mi' })),
      ],
      'b',
    ],
  ])('%s', (_, pod, nodes, expected) => {
    expect(chosen(pod, nodes)).toBe(expected);
  });
  test('is any of equals', () => {
    const equals = ['a', 'b', 'c'].map((name) => nodeWith(makeNode(name)));
    expect([0, 0.4, 0.99].map((random) => chosen(makePod('p'), equals, random))).toEqual(['a', 'b', 'c']);
  });
});

describe('no node', () => {
  test('because there is none', () => {
    expect(chosen(makePod('p'), [])).toBe('no nodes available to schedule pods');
  });
  test('because of several things, counted and in order', () => {
    const pod = requesting('p', { cpu: '2' }, { nodeSelector: { zone: 'a' } });
    const nodes = [
      nodeWith(makeNode('a')),
      nodeWith(makeNode('b')),
      nodeWith(makeNode('c', { labels: { zone: 'a' }, allocatable: { cpu: '1' } })),
    ];
    expect(chosen(pod, nodes)).toBe(
      "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector.",
    );
    expect([...(choose(pod, nodes).diagnosis?.rejectedBy ?? [])]).toEqual([
      'NodeAffinity',
      'NodeResourcesFit',
    ]);
  });
});

test.each([
  [50, 0, 50],
  [150, 0, 100],
  [1000, 0, 420],
  [5000, 0, 500],
  [6000, 0, 300],
  [5000, 100, 5000],
  [5000, 1, 100],
])('of %i nodes at %i percent, %i are enough', (nodes, percentage, enough) => {
  expect(feasibleToFind(nodes, percentage)).toBe(enough);
});
