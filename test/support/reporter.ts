// A vitest reporter: why suites were skipped, and the counts that scripts/test.mjs adds up.
// Guarantees: each reason is printed once a run, also when vitest is started by hand.
import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';
import { reasonOf } from './needs.js';

export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Starts the line that carries the counts when they go to standard output. */
export const COUNTS_MARK = '##trellis-test-counts ';

export class CountReporter implements Reporter {
  /** `target`: a file to write the counts to, `stdout` for a marked line, undefined for neither. */
  constructor(private readonly target: string | undefined) {}

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
    const reasons = new Set<string>();
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state === 'passed' ? 'passed' : state === 'failed' ? 'failed' : 'skipped'] += 1;
      }
      // A file that does not load has no tests to fail.
      if (module.errors().length > 0) counts.failed += 1;
      for (const suite of module.children.allSuites()) {
        const reason = reasonOf(suite.name);
        if (reason !== null) reasons.add(`${module.relativeModuleId}: ${reason}`);
      }
    }
    counts.failed += errors.length;
    if (reasons.size > 0)
      console.log(`Skipped:\n${[...reasons].map((reason) => `  ${reason}`).join('\n')}\n`);
    this.publish(counts);
  }

  private publish(counts: Counts): void {
    if (this.target === 'stdout') console.log(COUNTS_MARK + JSON.stringify(counts));
    else if (this.target !== undefined) writeFileSync(this.target, JSON.stringify(counts));
  }
}
