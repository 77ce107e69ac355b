// The order in which surplus pods go.
import { describe, expect, test } from 'vitest';
import { deletionCost, rankForDeletion } from '../../../../src/controllers/replicaSet/rank.js';
import { ago, NOW, type PodWish, pod } from '../support/objects.js';

const up: PodWish = { ready: true, node: 'a' };
const cost = (value: string) => ({
  ...up,
  meta: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': value } },
});

describe('rankForDeletion', () => {
  test.each<[string, PodWish, PodWish]>([
    ['unassigned before assigned', { phase: 'Pending' }, { phase: 'Pending', node: 'a' }],
    ['pending before running', { phase: 'Pending', node: 'a' }, { phase: 'Running', node: 'a' }],
    ['unknown before running', { phase: 'Unknown', node: 'a' }, { phase: 'Running', node: 'a' }],
    ['not ready before ready', { node: 'a' }, up],
    ['the cheaper before the dearer', cost('-5'), cost('10')],
    ['no cost counts as zero', up, cost('1')],
    ['doubled up on a node before alone', { ...up, node: 'crowded' }, up],
    ['ready for a short time before ready for long', { ...up, readyFor: 5 }, { ...up, readyFor: 5000 }],
    [
      'the younger before the older',
      { ...up, meta: { creationTimestamp: ago(10) } },
      { ...up, meta: { creationTimestamp: ago(9000) } },
    ],
  ])('takes %s', (_, first, second) => {
    // Names are given so that the tie-break would choose wrongly.
    const pods = [pod('a-second', second), pod('z-first', first)];
    const ranked = rankForDeletion(pods, { now: NOW, podsOnNode: (name) => (name === 'crowded' ? 3 : 1) });
    expect(ranked.map(({ metadata }) => metadata.name)).toEqual(['z-first', 'a-second']);
  });

  test('takes the more often restarted first', () => {
    const calm = pod('calm', up);
    const restless = pod('restless', up);
    const statuses = [{ name: 'main', ready: true, restartCount: 4, image: 'i', imageID: 'i' }];
    const shaken = { ...restless, status: { ...restless.status, containerStatuses: statuses } };
    const [first] = rankForDeletion([calm, shaken], { now: NOW, podsOnNode: () => 1 });
    expect(first?.metadata.name).toBe('restless');
  });

  test.each(['+5', '05', 'many', '2147483648', ''])('takes a cost of "%s" for none', (value) => {
    expect(deletionCost(pod('p', cost(value)))).toBe(0);
  });
});
