// How large each ReplicaSet becomes next.
import { describe, expect, test } from 'vitest';
import { fencepostsOf } from '../../../../src/controllers/deployment/fenceposts.js';
import {
  newSetSize,
  recreateStep,
  rollingStep,
  scaleStep,
} from '../../../../src/controllers/deployment/sizes.js';
import { deployment, replicaSet } from '../support/objects.js';

const rolling = (maxSurge: number | string, maxUnavailable: number | string) => ({
  strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
});
/** A set with its size, how many are available, and how many pods it still has. */
const set = (name: string, size: number, available = size, pods = size, meta: object = {}) =>
  replicaSet(name, size, { meta, status: { availableReplicas: available, replicas: pods } });
const sizes = (resizes: ReturnType<typeof rollingStep>) =>
  Object.fromEntries(resizes.map(({ set: { metadata }, replicas }) => [metadata.name, replicas]));

describe('fencepostsOf', () => {
  test.each([
    [10, '25%', '25%', 3, 2],
    [4, '25%', '25%', 1, 1],
    [1, '25%', '25%', 1, 0],
    [3, 0, '1%', 0, 1],
    [3, 2, 10, 2, 3],
    [10, '100%', '0%', 10, 0],
  ])(
    '%i replicas, surge %s, unavailable %s: %i and %i',
    (replicas, surge, unavailable, maxSurge, maxUnavailable) => {
      const fenceposts = fencepostsOf(deployment(replicas, { spec: rolling(surge, unavailable) }));
      expect(fenceposts).toEqual({ desired: replicas, maxSurge, maxUnavailable });
    },
  );
});

describe('rollingStep', () => {
  const ten = deployment(10, { spec: rolling(3, 2) });
  test.each([
    ['grows the new set into the surge', set('new', 0), [set('old', 10)], { new: 3 }],
    ['then shrinks the old by what may be unavailable', set('new', 3, 0), [set('old', 10)], { old: 8 }],
    ['waits while the new pods are not available', set('new', 5, 0), [set('old', 8)], {}],
    ['removes broken old pods first', set('new', 3, 0), [set('bad', 5, 0), set('old', 5)], { bad: 3 }],
    ['shrinks as new ones become available', set('new', 5, 5), [set('old', 8)], { old: 3 }],
    ['waits for old pods that are still there', set('new', 5, 5), [set('old', 3, 3, 8)], {}],
    ['brings a set that is too large down', set('new', 12), [], { new: 10 }],
    ['ends', set('new', 10), [set('old', 0)], {}],
  ])('%s', (_, current, old, wanted) => {
    expect(sizes(rollingStep({ deployment: ten, current, old }))).toEqual(wanted);
  });

  test('holds still while an old set has not answered its last change', () => {
    const late = set('old', 2, 2, 2, { generation: 2 });
    expect(rollingStep({ deployment: ten, current: set('new', 5), old: [late] })).toEqual([]);
    expect(newSetSize({ deployment: ten, current: undefined, old: [late] })).toBe(0);
  });
});

describe('recreateStep', () => {
  const recreate = deployment(3, { spec: { strategy: { type: 'Recreate' } } });
  test('first empties the old sets', () => {
    const step = recreateStep({ deployment: recreate, current: undefined, old: [set('old', 3)] }, 3);
    expect(sizes(step ?? [])).toEqual({ old: 0 });
  });
  test('waits while old pods live', () => {
    expect(
      recreateStep({ deployment: recreate, current: set('new', 0), old: [set('old', 0)] }, 1),
    ).toBeUndefined();
  });
  test('then fills the new set at once', () => {
    const step = recreateStep({ deployment: recreate, current: set('new', 0), old: [set('old', 0)] }, 0);
    expect(sizes(step ?? [])).toEqual({ new: 3 });
  });
});

describe('scaleStep', () => {
  const max = (value: number) => ({
    annotations: { 'deployment.kubernetes.io/max-replicas': String(value) },
  });
  const scaled = (replicas: number, current: ReturnType<typeof set>, old: ReturnType<typeof set>[]) =>
    sizes(scaleStep({ deployment: deployment(replicas, { spec: rolling(3, 2) }), current, old }, true));

  test('gives the whole number to the only set in use', () => {
    expect(scaled(7, set('new', 5), [set('old', 0)])).toEqual({ new: 7 });
  });
  test('shares growth in proportion', () => {
    expect(scaled(20, set('new', 5, 5, 5, max(13)), [set('old', 8, 8, 8, max(13))])).toEqual({
      old: 14,
      new: 9,
    });
  });
  test('shares shrinking in proportion', () => {
    expect(scaled(4, set('new', 5, 5, 5, max(13)), [set('old', 8, 8, 8, max(13))])).toEqual({
      old: 4,
      new: 3,
    });
  });
  test('empties everything for zero', () => {
    expect(scaled(0, set('new', 5, 5, 5, max(13)), [set('old', 8, 8, 8, max(13))])).toEqual({
      old: 0,
      new: 0,
    });
  });
  test('empties the old sets when the new one is whole', () => {
    expect(scaled(5, set('new', 5), [set('old', 8)])).toEqual({ old: 0 });
  });
});
