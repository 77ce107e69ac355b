// The tests that go through the native addon, run by scripts/sanitize.mjs on a build of it with sanitizers.
// Guarantees: the run-time library is in the workers alone; vitest itself and the tools that tests run stay as they are.
import { defineConfig } from 'vitest/config';
import { CountReporter } from '../support/reporter.js';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/kernel/**/*.test.ts', 'test/unit/kernel/**/*.test.ts'],
    reporters: ['default', new CountReporter(process.env['TRELLIS_TEST_COUNTS'])],
    pool: 'forks',
    maxWorkers: 2,
    // Instrumented code is several times slower.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    execArgv: ['--expose-gc'],
    env: { LD_PRELOAD: process.env['TRELLIS_PRELOAD'] ?? '' },
    setupFiles: ['test/sanitize/leaks.ts'],
  },
});
