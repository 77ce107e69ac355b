// What deleting an object means, as a table: who is marked, for how long, and who goes at once.
import { describe, expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { CONFIG_MAPS, NAMESPACES, PODS, type ResourceType } from '../../../../src/api/resources.js';
import { mayBeRemoved, planDeletion } from '../../../../src/apiserver/registry/deletion.js';

const kindOf = (type: ResourceType) => ({ type, hasGeneration: type === PODS }) as unknown as KindDefinition;
const NOW = Date.parse('2026-01-01T00:00:00Z');
const running = { spec: { nodeName: 'n', terminationGracePeriodSeconds: 30 }, status: { phase: 'Running' } };

function plan(type: ResourceType, object: object, options: object = {}) {
  return planDeletion(kindOf(type), { kind: type.kind, ...object }, options, NOW);
}

describe('goes at once', () => {
  test.each([
    ['an object without finalizers', CONFIG_MAPS, {}, {}],
    ['a pod without a node', PODS, { spec: {} }, {}],
    ['a pod that has ended', PODS, { spec: running.spec, status: { phase: 'Failed' } }, {}],
    ['a running pod, without grace', PODS, running, { gracePeriodSeconds: 0 }],
    ['a namespace that nothing holds', NAMESPACES, { spec: {} }, {}],
    ['an object whose dependents follow', CONFIG_MAPS, {}, { propagationPolicy: 'Background' }],
  ])('%s', (_name, type, object, options) => {
    expect(plan(type, object, options)).toEqual({ action: 'remove' });
  });
});

describe('is only marked', () => {
  test.each([
    [
      'a running pod',
      PODS,
      running,
      {},
      { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 },
    ],
    [
      'a running pod with its own grace',
      PODS,
      running,
      { gracePeriodSeconds: 5 },
      { deletionGracePeriodSeconds: 5 },
    ],
    [
      'an object with finalizers',
      CONFIG_MAPS,
      { metadata: { finalizers: ['x/y'] } },
      {},
      { deletionGracePeriodSeconds: 0, finalizers: ['x/y'] },
    ],
    [
      'an owner that goes last',
      CONFIG_MAPS,
      {},
      { propagationPolicy: 'Foreground' },
      { finalizers: ['foregroundDeletion'] },
    ],
    ['an owner that leaves orphans', CONFIG_MAPS, {}, { orphanDependents: true }, { finalizers: ['orphan'] }],
  ])('%s', (_name, type, object, options, metadata) => {
    expect(plan(type, object, options)).toMatchObject({ action: 'mark', marked: { metadata } });
  });

  test('a namespace that its finalizer holds, and it says so', () => {
    const namespace = { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } };
    expect(plan(NAMESPACES, namespace)).toMatchObject({ marked: { status: { phase: 'Terminating' } } });
  });
});

describe('a pod that is marked already', () => {
  const marked = {
    ...running,
    metadata: { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 },
  };
  test('keeps its mark when the new grace is no shorter', () => {
    expect(plan(PODS, marked, { gracePeriodSeconds: 60 })).toEqual({ action: 'keep' });
  });
  test('keeps its mark when no grace is named, whatever its own was', () => {
    const long = {
      ...marked.metadata,
      deletionTimestamp: '2026-01-01T00:05:00Z',
      deletionGracePeriodSeconds: 300,
    };
    expect(plan(PODS, { ...marked, metadata: long })).toEqual({ action: 'keep' });
    const ended = { ...marked, status: { phase: 'Succeeded' } };
    expect(plan(PODS, ended)).toEqual({ action: 'keep' });
  });
  test('goes at once when no grace is named for the second time', () => {
    expect(plan(PODS, marked, { gracePeriodSeconds: 0 })).toEqual({ action: 'remove' });
  });
  test('counts a shorter grace from the first request on, and has a second when that is over', () => {
    const first = { deletionTimestamp: '2026-01-01T00:00:10Z', deletionGracePeriodSeconds: 30 };
    const later = (gracePeriodSeconds: number) =>
      plan(PODS, { ...running, metadata: first }, { gracePeriodSeconds });
    expect(later(25)).toMatchObject({
      marked: { metadata: { deletionTimestamp: '2026-01-01T00:00:05Z', deletionGracePeriodSeconds: 25 } },
    });
    expect(later(5)).toMatchObject({
      marked: { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 } },
    });
  });
  test('gets the shorter grace', () => {
    expect(plan(PODS, marked, { gracePeriodSeconds: 2 })).toMatchObject({
      marked: { metadata: { deletionTimestamp: '2026-01-01T00:00:02Z', deletionGracePeriodSeconds: 2 } },
    });
  });
});

test.each([
  ['not deleted', {}, false],
  ['held by a finalizer', { deletionTimestamp: 'x', finalizers: ['a'] }, false],
  ['within its grace', { deletionTimestamp: 'x', deletionGracePeriodSeconds: 3 }, false],
  ['held by nothing', { deletionTimestamp: 'x', deletionGracePeriodSeconds: 0 }, true],
])('an update of an object that is %s', (_name, metadata, expected) => {
  expect(mayBeRemoved({ kind: 'Pod', metadata })).toBe(expected);
});
