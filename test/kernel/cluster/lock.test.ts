// The lock of a cluster between processes: an end waits for a start that is under way, and ends it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { layoutOf } from '../../../src/cluster/layout.js';
import { lockForEnd, lockForStart } from '../../../src/cluster/lock.js';

const LOCK = fileURLToPath(new URL('../../../dist/src/cluster/lock.js', import.meta.url));
const LAYOUT = fileURLToPath(new URL('../../../dist/src/cluster/layout.js', import.meta.url));
let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** A start that has come as far as its lock. */
async function starting() {
  const script = `
    import { lockForStart } from ${JSON.stringify(LOCK)};
    import { layoutOf } from ${JSON.stringify(LAYOUT)};
    await lockForStart(layoutOf(${JSON.stringify(dir)}));
    process.stdout.write('locked');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

test('an end finds a start that has written nothing down yet, ends it, and lets no other begin meanwhile', async () => {
  const child = await starting();
  const ended = once(child, 'exit');
  const lock = await lockForEnd(layoutOf(dir), 10_000);
  expect(await ended).toEqual([null, 'SIGTERM']);
  await expect(lockForStart(layoutOf(dir))).rejects.toMatchObject({ code: 'ALREADY_RUNNING' });
  lock?.release();
  (await lockForStart(layoutOf(dir))).release();
});

test('an end makes no directory, and ends nobody that does not hold the lock', async () => {
  rmSync(dir, { recursive: true });
  expect(await lockForEnd(layoutOf(dir), 10_000)).toBeUndefined();
  expect(existsSync(dir)).toBe(false);
  const own = await lockForStart(layoutOf(dir));
  // Held, and by nobody that could be ended for it.
  await expect(lockForEnd(layoutOf(dir), 100)).rejects.toMatchObject({ code: 'ALREADY_RUNNING' });
  own.release();
});
