// What counts on a node, from assumption to confirmation or retreat.
import { beforeEach, describe, expect, it } from 'vitest';
import { SchedulerCache } from '../../../src/scheduler/cache.js';
import { podInfoOf } from '../../../src/scheduler/podInfo.js';
import { makeNode, makePod, requesting } from './support.js';

let cache: SchedulerCache;
const cpuOn = (name: string) =>
  cache
    .nodes()
    .find((node) => node.name === name)
    ?.requested('cpu');
const waiting = requesting('p', { cpu: '1' });
const bound = (nodeName: string, extra = {}) => ({
  ...requesting('p', { cpu: '1' }, { nodeName }),
  ...extra,
});
beforeEach(() => {
  cache = new SchedulerCache();
  cache.setNode(makeNode('a'));
  cache.setNode(makeNode('b'));
});

describe('an assumed pod', () => {
  beforeEach(() => cache.assume(podInfoOf(waiting), 'a'));
  it('counts at once', () => expect(cpuOn('a')).toBe(1000));
  it('counts once when it is seen bound', () => {
    cache.setPod(bound('a'));
    expect([cpuOn('a'), cache.isAssumed('ns/p')]).toEqual([1000, false]);
  });
  it('moves when it is seen bound elsewhere', () => {
    cache.setPod(bound('b'));
    expect([cpuOn('a'), cpuOn('b')]).toEqual([0, 1000]);
  });
  it('is gone when forgotten', () => {
    cache.forget('ns/p');
    expect(cpuOn('a')).toBe(0);
  });
  it('is not forgotten after it was seen bound', () => {
    cache.setPod(bound('a'));
    cache.forget('ns/p');
    expect(cpuOn('a')).toBe(1000);
  });
  it('is gone when deleted', () => {
    cache.removePod('ns/p');
    expect(cpuOn('a')).toBe(0);
  });
});

it.each(['Succeeded', 'Failed'])('a pod that has %s counts no more', (phase) => {
  cache.setPod(bound('a'));
  cache.setPod(bound('a', { status: { phase } }));
  expect(cpuOn('a')).toBe(0);
});

it('pods on a node that is not known count when it comes, and survive its going', () => {
  cache.setPod(bound('c'));
  expect(cache.nodes()).toHaveLength(2);
  cache.setNode(makeNode('c'));
  expect(cpuOn('c')).toBe(1000);
  cache.removeNode('c');
  expect(cpuOn('c')).toBeUndefined();
  cache.setNode(makeNode('c'));
  expect(cpuOn('c')).toBe(1000);
});

it('an endless request leaves nothing behind', () => {
  cache.setPod(requesting('p', { cpu: 'much' }, { nodeName: 'a' }));
  cache.removePod('ns/p');
  expect(cpuOn('a') ?? 0).toBe(0);
  cache.setPod(makePod('q', { nodeName: 'a' }));
  expect(cache.nodes()[0]?.podCount).toBe(1);
});
