// The lock that keeps two set-ups of one tree apart, with real processes.
// Guarantees: never two holders at once, and a holder that died does not block anyone.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { identityOf, withLock } from '../../../../scripts/lib/lock.mjs';

const run = promisify(execFile);
let folder = '';
let lock = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trellis-lock-'));
  lock = path.join(folder, 'setup.lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

test('the lock is there during the work and nothing is left after it', async () => {
  const seen = await withLock(lock, {}, async () => readFileSync(lock, 'utf8'));
  expect(seen).toBe(identityOf(process.pid));
  expect(readdirSync(folder)).toEqual([]);
});

test('the lock is released when the work fails', async () => {
  await expect(withLock(lock, {}, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(existsSync(lock)).toBe(false);
});

test.each([
  ['a process that is gone', '4194999 1'],
  ['an earlier process with the same number', `${process.pid} 1`],
  ['a file with nothing in it', ''],
])('the lock of %s is taken over without waiting', async (_, content) => {
  writeFileSync(lock, content);
  const waits: number[] = [];
  expect(await withLock(lock, { onWait: (pid: number) => waits.push(pid) }, async () => 'done')).toBe('done');
  expect(waits).toEqual([]);
});

test('processes take turns, also when they find a stale lock', async () => {
  writeFileSync(lock, '4194999 1');
  const log = path.join(folder, 'log');
  const module = path.resolve(import.meta.dirname, '../../../../scripts/lib/lock.mjs');
  const script = `
    import { appendFileSync } from 'node:fs';
    import { withLock } from ${JSON.stringify(module)};
    await withLock(${JSON.stringify(lock)}, {}, async () => {
      appendFileSync(${JSON.stringify(log)}, 'in ');
      await new Promise((resolve) => setTimeout(resolve, 30));
      appendFileSync(${JSON.stringify(log)}, 'out ');
    });`;
  await Promise.all(
    Array.from({ length: 4 }, () => run(process.execPath, ['--input-type=module', '-e', script])),
  );
  expect(readFileSync(log, 'utf8')).toBe('in out '.repeat(4));
});
