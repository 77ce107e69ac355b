import { expect, test } from 'vitest';
import { Closers } from '../../../src/base/closers.js';

test('closes newest first, one after the other, and goes on after a failure', async () => {
  const told: unknown[] = [];
  const closers = new Closers((error) => told.push(error));
  const closed: string[] = [];
  const slowly = async (what: string) => {
    await Promise.resolve();
    closed.push(what);
  };
  const failure = new Error('in use');
  closers.add(
    () => closed.push('first'),
    () => Promise.reject(failure),
  );
  closers.add(() => slowly('last'));
  await closers.close();
  expect(closed).toEqual(['last', 'first']);
  expect(told).toEqual([failure]);
});

test('closes each once', async () => {
  let closed = 0;
  const closers = new Closers(() => {});
  closers.add(() => closed++);
  await closers.close();
  await closers.close();
  expect(closed).toBe(1);
});

test('a closer that throws is told of as one that rejects', async () => {
  const told: unknown[] = [];
  const closers = new Closers((error) => told.push(error));
  closers.add(() => {
    throw new Error('gone');
  });
  await closers.close();
  expect(told).toEqual([new Error('gone')]);
});
