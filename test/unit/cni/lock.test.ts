// Locks by name.
// Guarantees: alone means alone, shared means together, in the order of asking, and nothing is kept afterwards.
import { expect, test } from 'vitest';
import { Locks } from '../../../src/cni/lock.js';

function scene() {
  const locks = new Locks();
  const log: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const work = (name: string) => () => {
    log.push(`${name} in`);
    return new Promise<void>((resolve, reject) => {
      ends.set(name, (error) => {
        log.push(`${name} out`);
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  };
  const end = async (name: string, error?: Error) => {
    ends.get(name)?.(error);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { locks, log, work, end, settle: () => new Promise((resolve) => setImmediate(resolve)) };
}

test('one after the other for one name, together for two', async () => {
  const { locks, log, work, end, settle } = scene();
  const all = [locks.alone('a', work('1')), locks.alone('a', work('2')), locks.alone('b', work('3'))];
  await settle();
  expect(log).toEqual(['1 in', '3 in']);
  await end('1');
  expect(log).toEqual(['1 in', '3 in', '1 out', '2 in']);
  await end('2');
  await end('3');
  await Promise.all(all);
  expect(locks.size).toBe(0);
});

test('sharers go together; who wants it alone waits for them, and later sharers for him', async () => {
  const { locks, log, work, end, settle } = scene();
  const all = [
    locks.shared('a', work('s1')),
    locks.shared('a', work('s2')),
    locks.alone('a', work('alone')),
    locks.shared('a', work('s3')),
  ];
  await settle();
  expect(log).toEqual(['s1 in', 's2 in']);
  await end('s1');
  await end('s2');
  expect(log.slice(4)).toEqual(['alone in']);
  await end('alone');
  expect(log.slice(5)).toEqual(['alone out', 's3 in']);
  await end('s3');
  await Promise.all(all);
  expect(locks.size).toBe(0);
});

test('a failure lets the next one in', async () => {
  const { locks, log, work, end, settle } = scene();
  const first = expect(locks.alone('a', work('1'))).rejects.toThrow('broken');
  const second = locks.alone('a', work('2'));
  await settle();
  await end('1', new Error('broken'));
  await first;
  expect(log.at(-1)).toBe('2 in');
  await end('2');
  await second;
});
