// The test projects: which files each runs and how many at once.
// Guarantees: only unit tests share a process; whatever touches the kernel gets a process of its own.
import { defineConfig } from 'vitest/config';
import { CountReporter } from './test/support/reporter.js';

const project = (name: string, options: object) => ({
  extends: true as const,
  test: { name, include: [`test/${name}/**/*.test.ts`], ...options },
});

// A fixed number of processes: these tests wait for the kernel and for containers most of their time, so more of them
// run at once than there are processors.
const inProcesses = (timeoutMs: number, maxWorkers: number) => ({
  pool: 'forks',
  maxWorkers,
  testTimeout: timeoutMs,
  hookTimeout: timeoutMs,
});

export default defineConfig({
  test: {
    passWithNoTests: true,
    // One disturbance of a busy machine must not cost a whole run; the summary names every test that needed it.
    retry: process.env['CI'] === undefined ? 0 : 1,
    expect: { poll: { timeout: 60_000 } },
    reporters: ['default', new CountReporter(process.env['TRELLIS_TEST_COUNTS'])],
    projects: [
      project('unit', { pool: 'threads', testTimeout: 10_000, expect: { poll: { timeout: 8_000 } } }),
      project('kernel', { ...inProcesses(90_000, 3), sequence: { groupOrder: 1 } }),
      project('runtime', { ...inProcesses(180_000, 4), sequence: { groupOrder: 2 } }),
      project('vm', { ...inProcesses(180_000, 1), sequence: { groupOrder: 3 } }),
      project('e2e', { ...inProcesses(300_000, 1), sequence: { groupOrder: 4 } }),
      // Wants the programs of stock Kubernetes: see scripts/stock.mjs.
      ...(process.env['TRELLIS_STOCK'] === undefined ? [] : [project('stock', inProcesses(300_000, 1))]),
    ],
  },
});
