import { describe, expect, test } from 'vitest';
import { readNativeRun, readReports } from '../../../../scripts/lib/reports.mjs';

const leakReport = (...stacks: string[]) =>
  [
    `${'='.repeat(65)}\n==7==ERROR: LeakSanitizer: detected memory leaks\n`,
    ...stacks.map((stack) => `Direct leak of 8 byte(s) in 1 object(s) allocated from:\n${stack}\n`),
    'SUMMARY: AddressSanitizer: 8 byte(s) leaked in 1 allocation(s).\n',
  ].join('\n');

const OURS = '    #0 malloc <null> (/x/libasan.so)\n    #1 Query channel.cc:9 (/x/trellis.node)';
const NODES = '    #0 malloc <null> (/x/libasan.so)\n    #1 v8::Page <null> (/usr/bin/node)';
// Memory that Node asked for while it loaded the addon.
const LOADING = `${NODES}\n    #2 napi_define_class <null> (/usr/bin/node)\n    #3 Init addon.cc:9 (/x/trellis.node)`;
const THROUGH_LIBRARY =
  '    #0 operator new <null> (/x/libclang_rt.asan.so)\n    #1 std::string <null> (/x/libstdc++.so.6)\n    #2 Read json.cc:7 (/x/trellis.node)';
const PLANTED = '    #0 malloc <null> (/x/libasan.so)\n    #1 LeakOnPurpose module.cc:9 (/x/leaks.node)';

describe('readReports', () => {
  test('finds nothing in an empty log', () => {
    expect(readReports('')).toEqual({ errors: [], leaks: [], planted: false, foreignLeaks: 0 });
  });

  test('takes a leak for ours when the addon asked for the memory, and counts the others', () => {
    const { errors, leaks, planted, foreignLeaks } = readReports(
      leakReport(NODES, OURS, PLANTED, LOADING, THROUGH_LIBRARY),
    );
    expect(leaks).toEqual([expect.stringContaining('channel.cc:9'), expect.stringContaining('json.cc:7')]);
    expect({ errors, planted, foreignLeaks }).toEqual({ errors: [], planted: true, foreignLeaks: 2 });
  });

  test('tells a leak once that several checks told', () => {
    expect(readReports(leakReport(OURS) + leakReport(OURS)).leaks).toHaveLength(1);
  });

  test.each([
    ['==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n    #0 f (/usr/bin/node)\n'],
    ['native/a.cc:1:2: runtime error: signed integer overflow\n    #0 f (/x/trellis.node)\n'],
  ])('takes every error of memory or behaviour for ours: %s', (text) => {
    expect(readReports(`${'='.repeat(65)}\n${text}${leakReport(NODES)}`).errors).toEqual([text.trimEnd()]);
  });
});

describe('readNativeRun', () => {
  test('reads the counts of a run in which all passed', () => {
    expect(readNativeRun('  a test\n  another\n2 passed, 0 failed, 0 skipped\n', 0)).toEqual({
      passed: 2,
      failed: 0,
      skipped: 0,
      failures: [],
    });
  });

  test('names the tests that failed, with what they said', () => {
    const output =
      '  a test\n  adds: FAILED\n    x.cc:3: a\n      is 1\n  c: skipped, needs root\n1 passed, 1 failed, 1 skipped\n';
    expect(readNativeRun(output, 1)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 1,
      failures: ['native > adds\nx.cc:3: a\n  is 1'],
    });
  });

  test.each([
    [
      'a report',
      '  a\n  b==7==ERROR: X\nSUMMARY: AddressSanitizer: heap-use-after-free\n',
      'native > b==7==ERROR: X',
    ],
    ['a signal', '  a\n  b', 'native > b\nended with exit code 1'],
    ['nothing at all', '', 'native > before the first test'],
  ])('a run that %s cut short has failed', (_, output, failure) => {
    const { failed, failures } = readNativeRun(output, 1);
    expect(failed).toBe(1);
    expect(failures).toEqual([expect.stringContaining(failure)]);
  });

  test('a run of nothing is a failure that says why', () => {
    const output = "no test has 'x' in its name\n0 passed, 0 failed, 0 skipped\n";
    const failures = ["native > before the first test\nno test has 'x' in its name"];
    expect(readNativeRun(output, 1)).toMatchObject({ failed: 1, failures });
  });

  test('a leak found after the last test is a failure', () => {
    const output = '  a\n1 passed, 0 failed, 0 skipped\nSUMMARY: AddressSanitizer: 8 byte(s) leaked\n';
    expect(readNativeRun(output, 1)).toMatchObject({ passed: 1, failed: 1 });
  });
});
