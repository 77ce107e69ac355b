// Looks for leaks at the end of each test file: vitest ends its workers by a signal, so that no exit handler could.
// Guarantees: what JavaScript has let go is collected first; reports go to the files that scripts/sanitize.mjs reads.
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { addon } from '../../src/kernel/addon.js';

// The worker has the library already, and the addon from here on. The programs that tests run must get neither: without
// the library they cannot load this addon.
addon();
delete process.env['LD_PRELOAD'];
delete process.env['TRELLIS_ADDON'];

const path = process.env['TRELLIS_LEAKS'];
if (path === undefined) throw new Error('TRELLIS_LEAKS is not set: run npm run test:asan');
const leaks = createRequire(import.meta.url)(path) as { check(): boolean };

afterAll(async () => {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.();
    await sleep(10); // finalizers run between turns of the loop
  }
  leaks.check();
}, 120_000);
