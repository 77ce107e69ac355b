// Runs the native unit tests with the address and with the thread sanitizer, then the kernel tests of TypeScript on a
// sanitized addon: `node scripts/sanitize.mjs [vitest arguments]`.
// Guarantees: any report of the sanitizers, failed test or missing count gives a non-zero exit code.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { reportFailure } from './lib/failure.mjs';
import { runNativeTests } from './lib/nativeTests.mjs';
import { readReports } from './lib/reports.mjs';
import { runVisibly } from './lib/run.mjs';
import {
  buildSanitized,
  leakModule,
  MissingTools,
  preloadLibrary,
  sanitizedAddon,
  sanitizerEnvironment,
} from './lib/sanitized.mjs';
import { isPassed, summarize } from './lib/stages.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';

const LOGS = inTree('build', 'sanitize', 'logs');

async function main(vitestArgs) {
  const steps = createSteps();
  await buildSanitized(steps, ['native_tests', 'trellis', 'leaks']);
  await buildSanitized(steps, ['native_tests'], { sanitizer: 'thread' });
  const stages = [
    ['native, address and undefined behaviour', () => runNativeTests()],
    ['native, threads', () => runNativeTests({ sanitizer: 'thread' })],
    ['kernel, address and undefined behaviour', () => runKernel(steps, vitestArgs)],
  ];
  const results = [];
  for (const [name, work] of stages) {
    steps.note(`\n== ${name}`);
    const started = performance.now();
    const { code, counts } = await work();
    results.push({ name, ok: code === 0, counts, ms: performance.now() - started });
  }
  process.stdout.write(`\n${summarize(results)}\n`);
  process.exitCode = isPassed(results) ? 0 : 1;
}

// Only the workers get the run-time library, by the configuration; their reports go to files, one for each process.
async function runKernel(steps, vitestArgs) {
  rmSync(LOGS, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  const countsFile = path.join(LOGS, 'counts.json');
  const env = {
    ...sanitizerEnvironment({ logPath: path.join(LOGS, 'report') }),
    TRELLIS_ADDON: sanitizedAddon,
    TRELLIS_LEAKS: leakModule,
    TRELLIS_PRELOAD: await preloadLibrary(),
    TRELLIS_TEST_COUNTS: countsFile,
  };
  const config = ['--configLoader', 'runner', '--config', inTree('test', 'sanitize', 'vitest.config.ts')];
  const vitest = inTree('node_modules', 'vitest', 'vitest.mjs');
  const code = await runVisibly(process.execPath, [vitest, 'run', ...config, ...vitestArgs], {
    cwd: root,
    env,
  });
  if (!existsSync(countsFile)) return { code: code || 1 };
  const counts = JSON.parse(readFileSync(countsFile, 'utf8'));
  const reports = readLogs(steps, counts);
  for (const report of reports) {
    counts.failed += 1;
    counts.failures.push(report);
  }
  return { code: code || (reports.length > 0 ? 1 : 0), counts };
}

/** The reports that count, as texts. */
function readLogs(steps, counts) {
  const logs = readdirSync(LOGS).filter((name) => name.startsWith('report.'));
  const found = logs.map((name) => readReports(readFileSync(path.join(LOGS, name), 'utf8')));
  const errors = found.flatMap((log) => log.errors);
  if (errors.length === 0 && counts.passed > 0 && !found.some((log) => log.planted))
    errors.push('The leak checker did not see the leak made on purpose, so it can tell nothing of others.');
  const foreign = found.reduce((sum, log) => sum + log.foreignLeaks, 0);
  if (foreign > 0)
    steps.note(`Left out: ${foreign} leak records of Node itself, none with the addon in its stack.`);
  return [...errors, ...found.flatMap((log) => log.leaks)];
}

main(process.argv.slice(2)).catch((error) => {
  if (!(error instanceof MissingTools)) return reportFailure(error);
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
