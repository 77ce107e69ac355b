// A disruption that was announced and did not come.
import { describe, expect, test } from 'vitest';
import { staleInMs, withoutTarget } from '../../../../src/controllers/disruption/staleTarget.js';
import { ago, NOW, pod } from '../support/objects.js';

const told = (seconds: number, more: { status?: string; reason?: string } = {}) => ({
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  ...more,
  lastTransitionTime: ago(seconds),
});
const target = (condition: object | undefined, wish: Parameters<typeof pod>[1] = {}) => {
  const { status, ...rest } = pod('a', { ready: true, ...wish });
  const conditions = [...(status?.conditions ?? []), ...(condition === undefined ? [] : [condition])];
  return { ...rest, status: { ...status, conditions } } as ReturnType<typeof pod>;
};

describe('staleInMs', () => {
  test.each([
    ['a pod that was told nothing', target(undefined), undefined],
    ['one that was told just now', target(told(0)), 120_000],
    ['one that was told a minute ago', target(told(60)), 60_000],
    ['one that was told long ago', target(told(600)), 0],
    ['one to which it was taken back', target(told(600, { status: 'False' })), undefined],
    ['one that its kubelet is ending', target(told(600, { reason: 'TerminationByKubelet' })), undefined],
    ['one that is going', target(told(600), { meta: { deletionTimestamp: ago(1) } }), undefined],
    ['one that has failed', target(told(600), { phase: 'Failed' }), undefined],
  ])('%s', (_, of, wanted) => {
    expect(staleInMs(of, NOW)).toBe(wanted);
  });
});

test('takes back the one condition and leaves the others', () => {
  const [ready, disrupted] = withoutTarget(target(told(600)).status?.conditions ?? [], NOW);
  expect(ready).toMatchObject({ type: 'Ready', status: 'True' });
  expect(disrupted).toEqual({ type: 'DisruptionTarget', status: 'False', lastTransitionTime: ago(0) });
});
