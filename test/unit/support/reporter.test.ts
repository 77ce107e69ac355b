// What the reporter hands to scripts/test.mjs.
// Guarantees: failed, flaky and slow tests are named, files that do not load count, and the lists stay short.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TestModule } from 'vitest/node';
import { CountReporter, type Counts } from '../../support/reporter.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trellis-reporter-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface FakeTest {
  name: string;
  state?: 'passed' | 'failed' | 'skipped';
  ms?: number;
  flaky?: boolean;
}

/** A file with these tests, as vitest gives it to a reporter. */
function file(name: string, tests: FakeTest[], errors: Error[] = []): TestModule {
  const fake = tests.map(({ name: fullName, state = 'passed', ms, flaky = false }) => ({
    fullName,
    result: () => ({ state, errors: state === 'failed' ? [new Error('expected 3')] : [] }),
    diagnostic: () => (ms === undefined ? undefined : { duration: ms, flaky }),
  }));
  return {
    relativeModuleId: name,
    diagnostic: () => ({ collectDuration: 100, duration: tests.reduce((sum, { ms = 0 }) => sum + ms, 0) }),
    children: { allTests: () => fake, allSuites: () => [] },
    errors: () => errors,
  } as unknown as TestModule;
}

function counted(modules: TestModule[], errors: unknown[] = []): Counts {
  const target = path.join(folder, 'counts.json');
  new CountReporter(target).onTestRunEnd(modules, errors);
  return JSON.parse(readFileSync(target, 'utf8')) as Counts;
}

test('counts, and names what failed, failed at first, or took long', () => {
  const tests: FakeTest[] = [
    { name: 'adds', ms: 5 },
    { name: 'waits', ms: 900, flaky: true },
    { name: 'divides', state: 'failed', ms: 7 },
    { name: 'flies', state: 'skipped' },
  ];
  expect(counted([file('a.test.ts', tests)])).toEqual({
    passed: 2,
    failed: 1,
    skipped: 1,
    failures: ['a.test.ts > divides\nexpected 3'],
    flaky: ['a.test.ts > waits'],
    tests: [
      { name: 'a.test.ts > waits', ms: 900 },
      { name: 'a.test.ts > divides', ms: 7 },
      { name: 'a.test.ts > adds', ms: 5 },
    ],
    files: [{ name: 'a.test.ts', ms: 1012 }],
  });
});

test('counts a file that does not load, and an error outside of a test', () => {
  const broken = file('b.test.ts', [], [new Error('no such module')]);
  expect(counted([broken], [new Error('unhandled')])).toMatchObject({
    failed: 2,
    failures: ['b.test.ts\nno such module', 'outside of a test\nunhandled'],
  });
});

test('hands on no more than the slowest twenty', () => {
  const tests = Array.from({ length: 50 }, (_, n) => ({ name: `test ${n}`, ms: n }));
  const { tests: slowest } = counted([file('c.test.ts', tests)]);
  expect(slowest).toHaveLength(20);
  expect(slowest.at(-1)).toEqual({ name: 'c.test.ts > test 30', ms: 30 });
});
