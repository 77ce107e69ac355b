// What set-up prints, what it keeps to itself, and what it says when a command fails.
// Guarantees: output of good commands is hidden, that of bad ones is shown in full with advice.
import { describe, expect, test } from 'vitest';
import { adviceFor, failureText } from '../../../../scripts/lib/failure.mjs';
import { CommandFailed, run } from '../../../../scripts/lib/run.mjs';
import { createSteps } from '../../../../scripts/lib/steps.mjs';

function recorder(tty: boolean, times: number[]) {
  let text = '';
  const steps = createSteps({
    write: (more: string) => {
      text += more;
    },
    tty,
    now: () => times.shift() ?? 0,
  });
  return { steps, text: () => text };
}

describe('a step', () => {
  test('is one line with its time', async () => {
    const { steps, text } = recorder(false, [0, 1234]);
    expect(await steps.step('TypeScript', async () => 'result')).toBe('result');
    expect(text()).toBe('  done    TypeScript (1.23 s)\n');
    expect(steps.done).toEqual(['TypeScript']);
  });

  test('that fails says so, passes the error on and does not count as done', async () => {
    const { steps, text } = recorder(false, [0, 20_400]);
    await expect(steps.step('native core', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(text()).toBe('  failed  native core (20 s)\n');
    expect(steps.done).toEqual([]);
  });

  test('leaves no spinner behind on a terminal', async () => {
    const { steps, text } = recorder(true, []);
    await steps.step('x', async () => undefined);
    expect(text().endsWith('\r\x1b[K  done    x (0.00 s)\n')).toBe(true);
  });
});

describe('a command', () => {
  test('hands back what it printed', async () => {
    expect(await run('sh', ['-c', 'echo out; echo err >&2'])).toMatch(/out\n/);
  });

  test('that fails carries its whole output', async () => {
    const failure = run('sh', ['-c', 'echo one; echo two >&2; exit 3']);
    await expect(failure).rejects.toSatisfy((error: CommandFailed) => {
      const report = error.report();
      return report.includes('one\n') && report.includes('two\n') && report.endsWith('(exit code 3)');
    });
  });

  test('that does not exist is a failed command, not a crash', async () => {
    await expect(run('/no/such/program', [])).rejects.toBeInstanceOf(CommandFailed);
  });
});

test.each([
  ['/usr/bin/node /usr/lib/npm/bin/npm-cli.js ci', 'registry'],
  ['/usr/bin/node /x/node_modules/node-gyp/bin/node-gyp.js rebuild', 'C++'],
  ['/usr/bin/node /x/node_modules/typescript/bin/tsc', 'compiles again'],
  ['something else', 'run it again'],
])('advice for %s', (command, words) => {
  expect(adviceFor(command)).toContain(words);
});

test.each([
  [
    'a tree of another user',
    Object.assign(new Error('EACCES: x'), { code: 'EACCES' }),
    'belongs to another user',
  ],
  ['a full disk', Object.assign(new Error('ENOSPC: x'), { code: 'ENOSPC' }), 'cannot be written to'],
  ['a fault of our own', new TypeError('x is not a function'), 'steps.test.ts'],
])('the text for %s', (_, error, words) => {
  expect(failureText(error)).toContain(words);
});
