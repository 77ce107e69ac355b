import { expect, test } from 'vitest';
import { PodCache } from '../../../../src/kubelet/runtime/podCache.js';
import { emptyRuntimePod } from '../../../../src/kubelet/runtime/runtimePod.js';
import { podOf, run, runtimePod } from '../support.js';

function make() {
  let now = 0;
  const asked: string[] = [];
  const cache = new PodCache(
    async (uid) => {
      asked.push(uid);
      return runtimePod([run(podOf(), 'web', 'running')]);
    },
    () => now,
  );
  return { cache, asked, at: (ms: number) => (now = ms) };
}

test('a pod is asked for only when what is known may be older than the moment', async () => {
  const { cache, asked, at } = make();
  at(10);
  await cache.refresh('u1');
  await cache.newerThan('u1', 5);
  expect(asked).toHaveLength(1);
  at(20);
  await cache.newerThan('u1', 15);
  expect(asked).toHaveLength(2);
});

test('a whole relist speaks for pods that did not change, and for those that are not there', async () => {
  const { cache, asked, at } = make();
  at(10);
  await cache.refresh('u1');
  cache.completed(30);
  expect((await cache.newerThan('u1', 20)).containers).toHaveLength(1);
  expect(await cache.newerThan('u2', 20)).toEqual(emptyRuntimePod('u2'));
  expect(asked).toHaveLength(1);
  await cache.newerThan('u2', 40);
  expect(asked).toEqual(['u1', 'u2']);
});

test('a relist confirms what was asked for before it, and nothing later', async () => {
  const { cache, asked, at } = make();
  at(10);
  await cache.refresh('u1');
  expect(cache.confirm('u1', 5)).toBe(false);
  expect(cache.confirm('u1', 20)).toBe(true);
  expect((await cache.newerThan('u1', 15)).containers).toHaveLength(1);
  expect(asked).toHaveLength(1);
});

test('a container leads to its pod, and completeness never goes back', async () => {
  const { cache, asked } = make();
  expect(cache.uidOf('web-0')).toBeUndefined();
  const { containers } = await cache.refresh('u1');
  expect(cache.uidOf(containers[0]?.id ?? '')).toBe('u1');
  cache.completed(30);
  cache.completed(20);
  await cache.newerThan('u1', 25);
  expect(asked).toHaveLength(1);
});
