// Runs the native unit tests, then the kernel tests of TypeScript on a sanitized addon: `node scripts/sanitize.mjs`.
// Guarantees: any report of the sanitizers, failed test or missing count gives a non-zero exit code.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { reportFailure } from './lib/failure.mjs';
import { readNativeCounts, readReports } from './lib/reports.mjs';
import {
  buildSanitized,
  leakModule,
  MissingTools,
  nativeTests,
  preloadLibrary,
  sanitizedAddon,
  sanitizerEnvironment,
} from './lib/sanitized.mjs';
import { createSteps } from './lib/steps.mjs';
import { inTree, root } from './lib/tree.mjs';

const LOGS = inTree('build', 'sanitize', 'logs');

async function main(vitestArgs) {
  const steps = createSteps();
  await buildSanitized(steps, ['native_tests', 'trellis', 'leaks']);
  steps.note('\n== native unit tests');
  const native = await runNative();
  steps.note('\n== kernel tests on the sanitized addon');
  const kernel = await runKernel(vitestArgs);
  const reports = [...native.errors, ...kernel.errors, ...kernel.leaks];
  for (const report of reports) process.stdout.write(`\n${report}\n`);
  if (kernel.foreignLeaks > 0)
    steps.note(
      `Left out: ${kernel.foreignLeaks} leak records of Node itself, none with the addon in its stack.`,
    );
  process.stdout.write(`\n${summary(native.counts, kernel.counts, reports.length)}\n`);
  process.exitCode = native.ok && kernel.ok && reports.length === 0 ? 0 : 1;
}

function summary(native, kernel, reports) {
  const told = (counts, what) => {
    if (counts === null) return `${what} tests did not finish`;
    const extra = [`${counts.failed} failed`, `${counts.skipped} skipped`].filter(
      (text) => !text.startsWith('0 '),
    );
    return `${counts.passed} ${what} tests${extra.length > 0 ? ` (${extra.join(', ')})` : ''}`;
  };
  return `sanitizers: ${told(native, 'native')}, ${told(kernel, 'kernel')}, ${reports} reports`;
}

// A report ends this process: everything in it is compiled with the sanitizers.
async function runNative() {
  const { code, output } = await show(nativeTests, [], sanitizerEnvironment());
  const counts = readNativeCounts(output);
  // It has been seen already; here it only has to be counted.
  const found = output.match(/^SUMMARY: .*Sanitizer.*$|^.*runtime error: .*$/m);
  return {
    ok: code === 0 && counts !== null,
    counts,
    errors: code !== 0 && found !== null ? [found[0]] : [],
  };
}

// Only the workers get the run-time library, by the configuration; their reports go to files, one for each process.
async function runKernel(vitestArgs) {
  rmSync(LOGS, { recursive: true, force: true });
  mkdirSync(LOGS, { recursive: true });
  const countsFile = path.join(LOGS, 'counts.json');
  const environment = sanitizerEnvironment({ logPath: path.join(LOGS, 'report') });
  const { code } = await show(
    process.execPath,
    [
      inTree('node_modules', 'vitest', 'vitest.mjs'),
      ...['run', '--configLoader', 'runner', '--config', inTree('test', 'sanitize', 'vitest.config.ts')],
      ...vitestArgs,
    ],
    {
      ...environment,
      TRELLIS_ADDON: sanitizedAddon,
      TRELLIS_LEAKS: leakModule,
      TRELLIS_PRELOAD: await preloadLibrary(),
      TRELLIS_TEST_COUNTS: countsFile,
    },
  );
  const counts = existsSync(countsFile) ? JSON.parse(readFileSync(countsFile, 'utf8')) : null;
  const logs = readdirSync(LOGS).filter((name) => name.startsWith('report.'));
  const found = logs.map((name) => readReports(readFileSync(path.join(LOGS, name), 'utf8')));
  const errors = found.flatMap((log) => log.errors);
  if (errors.length === 0 && counts?.passed > 0 && !found.some((log) => log.planted))
    errors.push('The leak checker did not see the leak made on purpose, so it can tell nothing of others.');
  return {
    ok: code === 0 && counts !== null,
    counts,
    errors,
    leaks: found.flatMap((log) => log.leaks),
    foreignLeaks: found.reduce((sum, log) => sum + log.foreignLeaks, 0),
  };
}

// Shows the output as it comes, and keeps it.
function show(file, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        process.stdout.write(text);
      });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

main(process.argv.slice(2)).catch((error) => {
  if (!(error instanceof MissingTools)) return reportFailure(error);
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
