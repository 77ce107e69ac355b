// What a test run consists of, whether it passed, and the summary it ends with. Pure.
// Guarantees: the last line of a summary is the sum of all tests, whichever process ran them, and what failed is named
// above it, where it is still seen when the start of a long output is cut off. A run of no test has failed, and so has
// one that needed many second tries.
import { seconds } from './steps.mjs';

const HOST_PROJECTS = ['unit', 'kernel', 'runtime'];
const PROJECTS = [...HOST_PROJECTS, 'e2e', 'native', 'vm'];
/** Tests of one run that may pass at their second try. */
const MAX_RETRIED = 2;
const SLOWEST_TESTS = 20;
const SLOWEST_FILES = 10;

export const TEST_USAGE = `usage: node scripts/test.mjs [${PROJECTS.join('|')} ...] [arguments]

Sets up, then runs the named projects; without a name lint, types and all of them. The arguments go to vitest:
  node scripts/test.mjs unit cli -t help
With native alone, the argument is a part of the names of the native tests to run.
`;

/** Leading words that name projects are projects; all the rest goes to vitest as it is. */
export function parseTestArguments(args) {
  const end = args.findIndex((arg) => !PROJECTS.includes(arg));
  const split = end === -1 ? args.length : end;
  return { projects: args.slice(0, split), vitestArgs: args.slice(split) };
}

/**
 * The stages for the named projects; without a name, everything including lint and types. One that is `beside` another runs
 * at the same time: clusters wait most of theirs.
 */
export function planStages(projects) {
  const all = projects.length === 0;
  const isWanted = (name) => all || projects.includes(name);
  const onHost = HOST_PROJECTS.filter(isWanted);
  return [
    ...(all
      ? [
          { name: 'lint', runner: 'lint' },
          { name: 'types', runner: 'types' },
        ]
      : []),
    ...(onHost.length > 0 ? [{ name: onHost.join(' '), runner: 'vitest', projects: onHost }] : []),
    ...(isWanted('e2e') ? [{ name: 'e2e', runner: 'vitest', projects: ['e2e'] }] : []),
    ...(isWanted('vm') ? [{ name: 'vm', runner: 'vm', projects: ['vm'], beside: 'e2e' }] : []),
    // After those that wait much, beside which it is built.
    ...(isWanted('native') ? [{ name: 'native', runner: 'native' }] : []),
  ];
}

/** Stages in the groups that run at the same time, one group after the other. */
export function besideEachOther(stages) {
  const groups = [];
  for (const stage of stages) {
    const last = groups.at(-1);
    if (last !== undefined && stage.beside === last[0].name) last.push(stage);
    else groups.push([stage]);
  }
  return groups;
}

/** Whether every stage passed, at least one test ran, and no more than MAX_RETRIED needed a second try. */
export const isPassed = (results) => results.every(({ ok }) => ok) && objections(results).length === 0;

/** What failed, the slowest tests, one line a stage, then the sums. */
export function summarize(results) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const { counts, ok } of results) {
    for (const key of Object.keys(sum)) sum[key] += counts?.[key] ?? 0;
    // A stage that failed without a failed test (lint, a crash, no counts at all) must not read as success.
    if (!ok && (counts?.failed ?? 0) === 0) sum.failed += 1;
  }
  const objected = objections(results);
  sum.failed += objected.length;
  return [
    ...gathered(results, 'failures').map(failureText),
    ...gathered(results, 'flaky').map((test) => `failed once, then passed: ${test}\n`),
    ...objected.map(failureText),
    ...slowest('tests', gathered(results, 'tests'), SLOWEST_TESTS),
    ...slowest('files', gathered(results, 'files'), SLOWEST_FILES),
    ...stageLines(results),
    countsText(sum),
  ].join('\n');
}

const gathered = (results, key) => results.flatMap(({ counts }) => counts?.[key] ?? []);

/** What is wrong with the run as a whole, although each of its stages may have passed. */
function objections(results) {
  const counted = results.flatMap(({ counts }) => counts ?? []);
  const ran = counted.reduce((sum, { passed, failed }) => sum + passed + failed, 0);
  const retried = gathered(results, 'flaky').length;
  return [
    ...(counted.length > 0 && ran === 0 ? ['no test ran: is there one of that name?'] : []),
    ...(retried > MAX_RETRIED
      ? [`${retried} tests passed only when they were run again; a run may have ${MAX_RETRIED}`]
      : []),
  ];
}

function stageLines(results) {
  const width = Math.max(...results.map((result) => result.name.length));
  return results.map(({ name, ok, ms, counts }) => {
    const detail = counts === undefined ? '' : `  ${countsText(counts)}`;
    return `  ${ok ? 'passed' : 'FAILED'}  ${name.padEnd(width)}  ${seconds(ms).padStart(7)}${detail}`;
  });
}

function slowest(what, times, count) {
  if (times.length === 0) return [];
  const sorted = times.toSorted((a, b) => b.ms - a.ms).slice(0, count);
  return [
    `The slowest ${what}:`,
    ...sorted.map(({ name, ms }) => `  ${seconds(ms).padStart(7)}  ${name}`),
    '',
  ];
}

const failureText = (failure) => `FAILED  ${failure.replaceAll('\n', '\n    ')}\n`;

function countsText({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
