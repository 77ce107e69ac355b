// How many pods of a budget may go.
import { describe, expect, test } from 'vitest';
import type { V1PodDisruptionBudget } from '../../../../src/api/gen/types.js';
import type { Stored } from '../../../../src/api/object.js';
import { failedStatus, planBudget } from '../../../../src/controllers/disruption/plan.js';
import { ago, NOW, pod } from '../support/objects.js';

const budget = (spec: object, status: object = {}): Stored<V1PodDisruptionBudget> => ({
  metadata: pod('web').metadata,
  spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
  status,
});
const pods = (ready: number, unready = 0) => [
  ...Array.from({ length: ready }, (_, index) => pod(`r${index}`, { ready: true })),
  ...Array.from({ length: unready }, (_, index) => pod(`u${index}`)),
];

describe('planBudget', () => {
  test.each([
    ['a number that must stay', { minAvailable: 2 }, pods(3), 3, [1, 2, 3, 3]],
    ['a share that must stay, rounded up', { minAvailable: '50%' }, pods(3), 3, [1, 2, 3, 3]],
    ['a number that may go', { maxUnavailable: 1 }, pods(3), 3, [1, 2, 3, 3]],
    ['a number that may go, of which one is down', { maxUnavailable: 1 }, pods(2, 1), 3, [0, 2, 2, 3]],
    ['a share that may go, rounded up', { maxUnavailable: '30%' }, pods(4), 4, [2, 2, 4, 4]],
    ['pods that are still to come', { maxUnavailable: 1 }, pods(2), 5, [0, 4, 2, 5]],
    ['healthy pods that nobody wishes for', { maxUnavailable: 1 }, pods(2), 0, [0, 0, 2, 0]],
    ['no pods at all', { minAvailable: 0 }, [], 0, [0, 0, 0, 0]],
    [
      'a pod that terminates',
      { minAvailable: 1 },
      [...pods(1), pod('going', { ready: true, meta: { deletionTimestamp: ago(1) } })],
      2,
      [0, 1, 1, 2],
    ],
  ])('%s', (_, spec, present, expected, [allowed, desired, current, all]) => {
    expect(planBudget({ budget: budget(spec), pods: present, expected, now: NOW }).status).toMatchObject({
      disruptionsAllowed: allowed,
      desiredHealthy: desired,
      currentHealthy: current,
      expectedPods: all,
    });
  });

  test('does not count a pod whose eviction was just allowed, for two minutes', () => {
    const disruptedPods = { r0: ago(30), r1: ago(121), gone: ago(1) };
    const plan = planBudget({
      budget: budget({ minAvailable: 1 }, { disruptedPods }),
      pods: pods(3),
      expected: 3,
      now: NOW,
    });
    expect(plan.status).toMatchObject({ disruptedPods: { r0: ago(30) }, currentHealthy: 2 });
    expect(plan.againMs).toBe(90_000);
  });

  test('says whether anything may go, and since when', () => {
    const since = (status: string) => ({
      conditions: [
        { type: 'DisruptionAllowed', status, lastTransitionTime: ago(99), reason: '', message: '' },
      ],
    });
    const condition = (status: string) =>
      planBudget({ budget: budget({ minAvailable: 1 }, since(status)), pods: pods(2), expected: 2, now: NOW })
        .status.conditions?.[0];
    expect(condition('True')).toMatchObject({ reason: 'SufficientPods', lastTransitionTime: ago(99) });
    expect(condition('False')).toMatchObject({ reason: 'SufficientPods', lastTransitionTime: ago(0) });
  });

  test('allows nothing when it does not know', () => {
    const status = failedStatus(budget({}, { disruptionsAllowed: 3 }), 'no such selector', NOW);
    expect(status).toMatchObject({ disruptionsAllowed: 0, conditions: [{ reason: 'SyncFailed' }] });
  });
});
