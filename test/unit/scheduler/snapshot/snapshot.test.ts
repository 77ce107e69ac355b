// What counts on a node, from assumption to confirmation or retreat.
import { beforeEach, describe, expect, test } from 'vitest';
import { podInfoOf } from '../../../../src/scheduler/podInfo.js';
import { Snapshot } from '../../../../src/scheduler/snapshot/snapshot.js';
import { makeNode, makePod, requesting } from '../support.js';

let snapshot: Snapshot;
const cpuOn = (name: string) => {
  const slot = snapshot.table.slotOf(name);
  return slot === undefined || snapshot.table.exists[slot] !== 1
    ? undefined
    : snapshot.table.requestedOf(slot, 'cpu');
};
const waiting = requesting('p', { cpu: '1' });
const bound = (nodeName: string, extra = {}) => ({
  ...requesting('p', { cpu: '1' }, { nodeName }),
  ...extra,
});
beforeEach(() => {
  snapshot = new Snapshot();
  snapshot.setNode(makeNode('a'));
  snapshot.setNode(makeNode('b'));
});

describe('a newer version of a bound pod that counts as before', () => {
  test('takes the place of the old one, once', () => {
    snapshot.setPod(bound('a'));
    const newer = bound('a', { status: { startTime: '2026-01-01T00:00:00Z' } });
    expect(snapshot.refreshPod(newer)).toBe(true);
    const slot = snapshot.table.slotOf('a') ?? -1;
    expect([cpuOn('a'), snapshot.podCount, snapshot.podOf('ns/p')?.pod]).toEqual([1000, 1, newer]);
    expect(snapshot.table.ranked(slot).map(({ pod }) => pod)).toEqual([newer]);
    snapshot.removePod('ns/p');
    expect(cpuOn('a')).toBe(0);
  });
  test('is not taken for one that nobody has seen bound, or for a successor', () => {
    expect(snapshot.refreshPod(bound('a'))).toBe(false);
    snapshot.assume(podInfoOf(waiting), 'a');
    expect(snapshot.refreshPod(bound('a'))).toBe(false);
    snapshot.setPod(bound('a'));
    const successor = { ...bound('a'), metadata: { ...waiting.metadata, uid: 'another' } };
    expect(snapshot.refreshPod(successor)).toBe(false);
  });
});

describe('an assumed pod', () => {
  test('expires when its binding was answered and it is never seen', () => {
    expect(snapshot.expire(Number.MAX_SAFE_INTEGER)).toEqual([]);
    snapshot.expectBy('ns/p', 1000);
    expect([snapshot.expire(999), cpuOn('a')]).toEqual([[], 1000]);
    expect([snapshot.expire(1000), cpuOn('a')]).toEqual([['ns/p'], 0]);
  });
  beforeEach(() => snapshot.assume(podInfoOf(waiting), 'a'));
  test('counts at once', () => expect(cpuOn('a')).toBe(1000));
  test('counts once when it is seen bound', () => {
    snapshot.setPod(bound('a'));
    expect([cpuOn('a'), snapshot.isAssumed('ns/p')]).toEqual([1000, false]);
  });
  test('moves when it is seen bound elsewhere', () => {
    snapshot.setPod(bound('b'));
    expect([cpuOn('a'), cpuOn('b')]).toEqual([0, 1000]);
  });
  test('is gone when forgotten', () => {
    snapshot.forget('ns/p');
    expect(cpuOn('a')).toBe(0);
  });
  test('is not forgotten after it was seen bound', () => {
    snapshot.setPod(bound('a'));
    snapshot.forget('ns/p');
    expect(cpuOn('a')).toBe(1000);
  });
  test('is gone when deleted', () => {
    snapshot.removePod('ns/p');
    expect(cpuOn('a')).toBe(0);
  });
});

test.each(['Succeeded', 'Failed'])('a pod that has %s counts no more', (phase) => {
  snapshot.setPod(bound('a'));
  snapshot.setPod(bound('a', { status: { phase } }));
  expect(cpuOn('a')).toBe(0);
});

test('pods on a node that is not known count when it comes, and survive its going', () => {
  snapshot.setPod(bound('c'));
  expect(snapshot.nodeCount).toBe(2);
  snapshot.setNode(makeNode('c'));
  expect(cpuOn('c')).toBe(1000);
  snapshot.removeNode('c');
  expect(cpuOn('c')).toBeUndefined();
  snapshot.setNode(makeNode('c'));
  expect(cpuOn('c')).toBe(1000);
});

test('an endless request leaves nothing behind', () => {
  snapshot.setPod(requesting('p', { cpu: 'much' }, { nodeName: 'a' }));
  snapshot.removePod('ns/p');
  expect(cpuOn('a') ?? 0).toBe(0);
  snapshot.setPod(makePod('q', { nodeName: 'a' }));
  expect(snapshot.table.podCount[0]).toBe(1);
});

describe('the order of nodes', () => {
  const zoned = (name: string, zone: string) =>
    makeNode(name, { labels: { 'topology.kubernetes.io/zone': zone } });
  const names = () => [...snapshot.order()].map((slot) => snapshot.table.names[slot]);
  beforeEach(() => {
    snapshot = new Snapshot();
    for (const [name, zone] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['a3', 'a'],
      ['b1', 'b'],
      ['c1', 'c'],
      ['c2', 'c'],
    ] as const)
      snapshot.setNode(zoned(name, zone));
  });
  test('takes one of each zone in turn', () => expect(names()).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']));
  test('follows a node that goes, and one that changes its zone', () => {
    snapshot.removeNode('a1');
    snapshot.setNode(zoned('a3', 'b'));
    expect(names()).toEqual(['a2', 'a3', 'c1', 'b1', 'c2']);
  });
});

test('a slot is used again with nothing of its former node', () => {
  snapshot.setPod(bound('a'));
  snapshot.removeNode('a');
  snapshot.removePod('ns/p');
  snapshot.setNode(makeNode('d', { allocatable: { cpu: '7' } }));
  const slot = snapshot.table.slotOf('d') ?? -1;
  expect([slot, snapshot.table.podCount[slot], cpuOn('d'), snapshot.table.offerOf(slot, 'cpu')]).toEqual([
    0, 0, 0, 7000,
  ]);
});
