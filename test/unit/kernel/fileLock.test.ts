// A lock on a file: one holder at a time, freed with its process, taken by nobody who may not read the file.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockHolder, takeFileLock } from '../../../src/kernel/fileLock.js';

let dir = '';
let file = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-lock-'));
  file = path.join(dir, 'lock');
});
afterEach(() => rmSync(dir, { recursive: true }));

test('is held once, names its holder, and can be taken again when it was released', () => {
  const first = takeFileLock(file);
  expect(first).toBeDefined();
  expect(takeFileLock(file)).toBeUndefined();
  expect(lockHolder(file)).toBe(process.pid);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  first?.release();
  first?.release();
  expect(lockHolder(file)).toBeUndefined();
  takeFileLock(file)?.release();
});

test('takes its file away where it is temporary, also one that a killed process left', () => {
  writeFileSync(file, '1\n', { mode: 0o600 });
  const first = takeFileLock(file, { isTemporary: true });
  expect(lockHolder(file)).toBe(process.pid);
  expect(takeFileLock(file, { isTemporary: true })).toBeUndefined();
  first?.release();
  expect(existsSync(file)).toBe(false);
  expect(lockHolder(file)).toBeUndefined();
  const second = takeFileLock(file, { isTemporary: true });
  // It is another's by now.
  first?.release();
  expect(existsSync(file)).toBe(true);
  second?.release();
});

test('is freed when its process is killed', async () => {
  // util-linux takes the same kind of lock.
  const holder = spawn('flock', ['--no-fork', file, 'sh', '-c', 'echo held; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  expect(takeFileLock(file)).toBeUndefined();
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const lock = takeFileLock(file);
  expect(lock).toBeDefined();
  lock?.release();
});

test('follows no link to a file that others can lock', () => {
  const elsewhere = path.join(dir, 'elsewhere');
  writeFileSync(elsewhere, '');
  symlinkSync(elsewhere, file);
  expect(() => takeFileLock(file)).toThrow(/ELOOP/);
});
