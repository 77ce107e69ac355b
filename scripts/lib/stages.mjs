// What a test run consists of, and the summary it ends with. Pure.
// Guarantees: the last line of a summary is the sum of all tests, whichever process ran them, and what failed is named
// right above it, where it is still seen when the start of a long output is cut off.
import { seconds } from './steps.mjs';

const HOST_PROJECTS = ['unit', 'kernel', 'runtime', 'e2e'];
const PROJECTS = [...HOST_PROJECTS, 'vm'];

/** Leading words that name projects are projects; all the rest goes to vitest as it is. */
export function parseTestArguments(args) {
  const end = args.findIndex((arg) => !PROJECTS.includes(arg));
  const split = end === -1 ? args.length : end;
  return { projects: args.slice(0, split), vitestArgs: args.slice(split) };
}

/** The stages for the named projects; without a name, everything including lint and types. */
export function planStages(projects) {
  const all = projects.length === 0;
  const onHost = HOST_PROJECTS.filter((name) => all || projects.includes(name));
  return [
    ...(all
      ? [
          { name: 'lint', runner: 'lint' },
          { name: 'types', runner: 'types' },
        ]
      : []),
    ...(onHost.length > 0 ? [{ name: onHost.join(' '), runner: 'vitest', projects: onHost }] : []),
    ...(all || projects.includes('vm') ? [{ name: 'vm', runner: 'vm', projects: ['vm'] }] : []),
  ];
}

/** What failed, one line a stage, then the sums. */
export function summarize(results) {
  const width = Math.max(...results.map((result) => result.name.length));
  const lines = results.map(({ name, ok, ms, counts }) => {
    const detail = counts === undefined ? '' : `  ${countsText(counts)}`;
    return `  ${ok ? 'passed' : 'FAILED'}  ${name.padEnd(width)}  ${seconds(ms).padStart(7)}${detail}`;
  });
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const { counts, ok } of results) {
    for (const key of Object.keys(sum)) sum[key] += counts?.[key] ?? 0;
    // A stage that failed without a failed test (lint, a crash, no counts at all) must not read as success.
    if (!ok && (counts?.failed ?? 0) === 0) sum.failed += 1;
  }
  const failures = results.flatMap(({ counts }) => counts?.failures ?? []);
  const flaky = results.flatMap(({ counts }) => counts?.flaky ?? []);
  const told = [...failures.map(failureText), ...flaky.map((test) => `failed once, then passed: ${test}\n`)];
  return [...told, ...lines, countsText(sum)].join('\n');
}

const failureText = (failure) => `FAILED  ${failure.replaceAll('\n', '\n    ')}\n`;

export function countsText({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
