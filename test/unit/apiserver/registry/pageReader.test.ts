// A page and a client that stalls: nothing of the page is held, and what is left is read again.
import { expect, test, vi } from 'vitest';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { configMapKind } from '../../../../src/api/kinds/configMap.js';
import { CachedObject } from '../../../../src/apiserver/registry/cached.js';
import { PageReader } from '../../../../src/apiserver/registry/pageReader.js';

const kind = configMapKind as KindDefinition;
const objects = ['/a', '/b', '/c', '/d'].map(
  (key, i) => new CachedObject(kind, key, Buffer.from(`{"metadata":{"name":"${key}"}}`), i + 1),
);
const readOn = vi.fn(async (after: string) => objects.filter(({ key }) => key > after).slice(0, 2));

async function readAll(reader: PageReader, onTaken = () => {}): Promise<string[]> {
  const keys: string[] = [];
  for (; !reader.ended; await reader.load()) {
    for (; reader.current !== undefined; onTaken()) {
      keys.push(reader.current.key);
      reader.take();
    }
  }
  return keys;
}

test('what is held is given without another look', async () => {
  readOn.mockClear();
  expect(await readAll(new PageReader(objects, readOn))).toEqual(['/a', '/b', '/c', '/d']);
  expect(readOn).not.toHaveBeenCalled();
});

test('parked at any place it goes on from there, in batches, each object once', async () => {
  for (const place of [1, 2, 3, 4]) {
    const reader = new PageReader(objects, readOn);
    let taken = 0;
    const keys = await readAll(reader, () => {
      taken += 1;
      if (taken === place) reader.park();
    });
    expect(keys).toEqual(['/a', '/b', '/c', '/d']);
  }
});

test('a client that is waited for too long holds no object; one that comes back in time keeps them', () => {
  vi.useFakeTimers();
  try {
    const [slow, fast] = [new PageReader(objects, readOn), new PageReader(objects, readOn)];
    slow.pause();
    fast.pause();
    vi.advanceTimersByTime(500);
    fast.resume();
    vi.advanceTimersByTime(2000);
    expect([slow.held.length, fast.held.length]).toEqual([0, 4]);
    expect(slow.ended).toBe(false);
  } finally {
    vi.useRealTimers();
  }
});

test('what can be read nowhere else stays until it is taken', () => {
  const reader = new PageReader(objects);
  reader.park();
  expect(reader.held).toHaveLength(4);
});
