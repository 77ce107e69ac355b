// A vitest reporter: why suites were skipped, and the counts, failures and slowest tests that scripts/test.mjs sums up.
// Guarantees: each reason is printed once a run, also when vitest is started by hand.
import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestModule } from 'vitest/node';
import { reasonOf } from './needs.js';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** One text a failure: where it is and how its message begins. */
  failures: string[];
  /** Tests that failed at first and passed when they were run again. */
  flaky: string[];
  /** The slowest tests, and the slowest files with their loading and hooks. */
  tests: Timed[];
  files: Timed[];
}

interface Timed {
  name: string;
  ms: number;
}

/** Starts the line that carries the counts when they go to standard output. */
const COUNTS_MARK = '##trellis-test-counts ';

const MESSAGE_LINES = 12;
const MESSAGE_CHARACTERS = 1000;
/** As many of each as the summary shows at most. */
const SLOWEST = 20;

export class CountReporter implements Reporter {
  readonly #target: string | undefined;

  /** `target`: a file to write the counts to, `stdout` for a marked line, undefined for neither. */
  constructor(target: string | undefined) {
    this.#target = target;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts: Counts = {
      passed: 0,
      failed: 0,
      skipped: 0,
      failures: [],
      flaky: [],
      tests: [],
      files: [],
    };
    const reasons = new Set<string>();
    for (const module of modules) {
      const { collectDuration, duration } = module.diagnostic();
      counts.files.push({ name: module.relativeModuleId, ms: collectDuration + duration });
      for (const test of module.children.allTests()) {
        const { state, errors: own } = test.result();
        const name = `${module.relativeModuleId} > ${test.fullName}`;
        const diagnostic = test.diagnostic();
        if (diagnostic !== undefined) counts.tests.push({ name, ms: diagnostic.duration });
        if (diagnostic?.flaky === true) counts.flaky.push(name);
        if (state === 'failed') fail(counts, name, own);
        else counts[state === 'passed' ? 'passed' : 'skipped'] += 1;
      }
      // A file that does not load has no tests to fail.
      if (module.errors().length > 0) fail(counts, module.relativeModuleId, module.errors());
      for (const suite of module.children.allSuites()) {
        const reason = reasonOf(suite.name);
        if (reason !== null) reasons.add(`${module.relativeModuleId}: ${reason}`);
      }
    }
    for (const error of errors) fail(counts, 'outside of a test', [error]);
    if (reasons.size > 0)
      console.log(`Skipped:\n${[...reasons].map((reason) => `  ${reason}`).join('\n')}\n`);
    this.#publish({ ...counts, tests: slowest(counts.tests), files: slowest(counts.files) });
  }

  #publish(counts: Counts): void {
    if (this.#target === 'stdout') console.log(COUNTS_MARK + JSON.stringify(counts));
    else if (this.#target !== undefined) writeFileSync(this.#target, JSON.stringify(counts));
  }
}

const slowest = (times: readonly Timed[]) => [...times].sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);

function fail(counts: Counts, where: string, errors: readonly unknown[]): void {
  counts.failed += 1;
  const messages = errors.map((error) => (error as { message?: unknown }).message ?? error);
  const text = stripVTControlCharacters(messages.join('\n')).split('\n').slice(0, MESSAGE_LINES).join('\n');
  counts.failures.push(`${where}\n${text.slice(0, MESSAGE_CHARACTERS)}`);
}
