// The choice among nodes, and the sentence when there is none.
import { describe, expect, it } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { chooseNode, defaultProfile, refusalMessage } from '../../../src/scheduler/choose.js';
import type { NodeInfo } from '../../../src/scheduler/nodeInfo.js';
import { podInfoOf } from '../../../src/scheduler/podInfo.js';
import { makeNode, makePod, nodeWith, requesting } from './support.js';

const choose = (pod: Stored<V1Pod>, nodes: NodeInfo[], random = 0) =>
  chooseNode(podInfoOf(pod), nodes, defaultProfile, () => random);
const chosen = (pod: Stored<V1Pod>, nodes: NodeInfo[], random?: number) => {
  const choice = choose(pod, nodes, random);
  return 'node' in choice ? choice.node.name : refusalMessage(choice.refusal);
};

describe('the chosen node', () => {
  const busy = requesting('q', { cpu: '3', memory: '6Gi' });
  const prefer = { key: 'k', effect: 'PreferNoSchedule' };
  const wish = {
    weight: 10,
    preference: { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] },
  };
  it.each<readonly [string, Stored<V1Pod>, NodeInfo[], string]>([
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
        nodeWith(makeNode('b'), requesting('q', { cpu: '250m', memory: '4608Mi' })),
      ],
      'b',
    ],
  ])('%s', (_, pod, nodes, expected) => {
    expect(chosen(pod, nodes)).toBe(expected);
  });
  it('is any of equals', () => {
    const equals = ['a', 'b', 'c'].map((name) => nodeWith(makeNode(name)));
    expect([0, 0.4, 0.99].map((random) => chosen(makePod('p'), equals, random))).toEqual(['a', 'b', 'c']);
  });
});

describe('no node', () => {
  it('because there is none', () => {
    expect(chosen(makePod('p'), [])).toBe('no nodes available to schedule pods');
  });
  it('because of several things, counted and in order', () => {
    const pod = requesting('p', { cpu: '2' }, { nodeSelector: { zone: 'a' } });
    const nodes = [
      nodeWith(makeNode('a')),
      nodeWith(makeNode('b')),
      nodeWith(makeNode('c', { labels: { zone: 'a' }, allocatable: { cpu: '1' } })),
    ];
    expect(chosen(pod, nodes)).toBe(
      "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector.",
    );
    const choice = choose(pod, nodes);
    expect('refusal' in choice && [...choice.refusal.rejectedBy]).toEqual([
      'NodeAffinity',
      'NodeResourcesFit',
    ]);
  });
});
