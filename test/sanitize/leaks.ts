// Looks for leaks at the end of each test file: vitest ends its workers by a signal, so that no exit handler could.
// Guarantees: what JavaScript has let go is collected first; reports go to the files that scripts/sanitize.mjs reads.
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';

// The worker has the library already; the tools that tests run must not get it.
delete process.env['LD_PRELOAD'];

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
