// The one history in memory: what it holds is counted, bounded, and let go when it is dropped.
import { expect, test } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { configMapKind } from '../../../../src/api/kinds/configMap.js';
import { eventKind } from '../../../../src/api/kinds/event.js';
import { CachedObject } from '../../../../src/apiserver/registry/cached.js';
import { type Change, History, type Window } from '../../../../src/apiserver/registry/history.js';
import { ResourceCache } from '../../../../src/apiserver/registry/resourceCache.js';

const kind = configMapKind as KindDefinition;
const MB = 1024 * 1024;
const stored = (bytes: number, labels = {}) =>
  Buffer.from(
    JSON.stringify({ kind: 'ConfigMap', metadata: { name: 'a', labels }, data: { x: 'x'.repeat(bytes) } }),
  );

/** Every buffer that can be reached from the changes of a window, once. */
function reachable(windows: readonly Window[]): number {
  const buffers = new Set<ArrayBufferLike>();
  for (const window of windows) {
    for (let number = window.end - 1; !window.isLost(number); number -= 1) {
      const { object, previous } = window.at(number) as Change;
      for (const held of [object, previous]) if (held !== undefined) buffers.add(held.bytes.buffer);
    }
  }
  return [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function write(
  cache: ResourceCache,
  revision: number,
  value: Buffer,
  key = '/registry/configmaps/default/a',
) {
  cache.apply({ type: 'put', key, revision, value });
}

test('one large object updated hundreds of times is held within the bound, the versions before included', () => {
  const history = new History({ bytes: 16 * MB });
  const cache = new ResourceCache(kind, history);
  const value = stored(950_000);
  for (let revision = 1; revision <= 400; revision += 1) {
    write(cache, revision, value);
    expect(history.bytes).toBeLessThanOrEqual(16 * MB);
  }
  expect(reachable([cache.window])).toBeLessThanOrEqual(history.bytes);
  // Each version is the object of one change and the previous of the next: counted once.
  expect(history.bytes - reachable([cache.window])).toBeLessThan(100_000);
  expect(() => cache.window.numberAfter(380)).toThrow('too old resource version');
  expect(cache.window.at(cache.window.numberAfter(395))?.revision).toBe(396);
});

test('what is dropped cannot be reached any more, not even for a moment', () => {
  const history = new History({ bytes: 64 * 1024 });
  const cache = new ResourceCache(kind, history);
  for (let revision = 1; revision <= 5000; revision += 1) {
    write(cache, revision, stored(1000));
    const { window } = cache;
    const held = window.end - window.numberAfter(Math.max(0, revision - 20));
    expect(held).toBeLessThanOrEqual(20);
  }
  expect(cache.window.isLost(4000)).toBe(true);
  expect(cache.window.at(4000)).toBeUndefined();
});

test('changes are forgotten when they are old, also where nothing changes any more', () => {
  let now = 0;
  const history = new History({ ageMs: 75_000, now: () => now });
  const cache = new ResourceCache(kind, history);
  for (let revision = 1; revision <= 10; revision += 1) {
    now = revision * 10_000;
    write(cache, revision, stored(1000));
  }
  expect(() => cache.window.numberAfter(1)).toThrow('too old');
  expect(cache.window.at(cache.window.numberAfter(5))?.revision).toBe(6);
  now += 100_000;
  history.expire();
  expect(history.bytes).toBe(0);
  // Whoever has seen the last change can still go on.
  expect(cache.window.numberAfter(10)).toBe(cache.window.end);
});

test('a resource that takes all the room loses its own past, not that of others', () => {
  const history = new History({ bytes: 8 * MB });
  const [noisy, quiet] = [new ResourceCache(kind, history), new ResourceCache(kind, history)];
  for (let revision = 1; revision <= 100; revision += 1) write(quiet, revision, stored(1000));
  for (let revision = 101; revision <= 200; revision += 1) write(noisy, revision, stored(950_000));
  expect(history.bytes).toBeLessThanOrEqual(8 * MB);
  expect(quiet.window.numberAfter(0)).toBe(0);
  expect(() => noisy.window.numberAfter(150)).toThrow('too old');
});

test('a deletion and a refilled cache leave nothing counted', () => {
  const history = new History();
  const cache = new ResourceCache(kind, history);
  write(cache, 1, stored(1000));
  cache.apply({ type: 'delete', key: '/registry/configmaps/default/a', revision: 2, value: stored(1000) });
  expect(history.bytes).toBeGreaterThan(2000);
  cache.fill([], 3);
  expect(history.bytes).toBe(0);
});

test('the bytes of an object have a buffer of their own, of exactly their size', () => {
  const { bytes } = new CachedObject(kind, '/k', stored(100), 1);
  expect(bytes.buffer.byteLength).toBe(bytes.length);
});

test('what selectors look at of an event is read again, not kept: there are thousands of them', () => {
  const stored = Buffer.from(
    JSON.stringify({
      metadata: { name: 'e' },
      involvedObject: { kind: 'Pod', name: 'p' },
      reason: 'Started',
    }),
  );
  const event = new CachedObject(eventKind as KindDefinition, '/e', stored, 1);
  const before = event.heldBytes;
  expect(event.summary.fields['involvedObject.name']).toBe('p');
  expect(event.heldBytes).toBe(before);
  expect(event.summary).toBe(event.summary);
});

test('labels that selectors look at are counted, and a megabyte of them is not kept beside the object', () => {
  const few = new CachedObject(kind, '/k', stored(100, { app: 'web' }), 1);
  const before = few.heldBytes;
  expect(few.summary.labels).toEqual({ app: 'web' });
  expect(few.heldBytes).toBeGreaterThan(before);
  const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`l${i}`, '']));
  const large = new CachedObject(kind, '/k', stored(100, many), 1);
  expect(Object.keys(large.summary.labels)).toHaveLength(20_000);
  expect(large.heldBytes).toBeLessThan(large.bytes.length + 1000);
  // Looked at in turn by many watchers, it is read once.
  expect(large.summary).toBe(large.summary);
});
