import { describe, expect, it } from 'vitest';
import { readNativeCounts, readReports } from '../../../scripts/lib/reports.mjs';

const leakReport = (...stacks: string[]) =>
  [
    `${'='.repeat(65)}\n==7==ERROR: LeakSanitizer: detected memory leaks\n`,
    ...stacks.map((stack) => `Direct leak of 8 byte(s) in 1 object(s) allocated from:\n${stack}\n`),
    'SUMMARY: AddressSanitizer: 8 byte(s) leaked in 1 allocation(s).\n',
  ].join('\n');

const OURS = '    #0 malloc <null> (/x/libasan.so)\n    #1 Query channel.cc:9 (/x/trellis.node)';
const NODES = '    #0 malloc <null> (/x/libasan.so)\n    #1 v8::Page <null> (/usr/bin/node)';
const PLANTED = '    #0 malloc <null> (/x/libasan.so)\n    #1 LeakOnPurpose module.cpp:9 (/x/leaks.node)';

describe('readReports', () => {
  it('finds nothing in an empty log', () => {
    expect(readReports('')).toEqual({ errors: [], leaks: [], planted: false, foreignLeaks: 0 });
  });

  it('takes a leak for ours when the addon stands in its stack, and counts the others', () => {
    const { errors, leaks, planted, foreignLeaks } = readReports(leakReport(NODES, OURS, PLANTED, NODES));
    expect(leaks).toEqual([expect.stringContaining('channel.cc:9')]);
    expect({ errors, planted, foreignLeaks }).toEqual({ errors: [], planted: true, foreignLeaks: 2 });
  });

  it('tells a leak once that several checks told', () => {
    expect(readReports(leakReport(OURS) + leakReport(OURS)).leaks).toHaveLength(1);
  });

  it.each([
    ['==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1\n    #0 f (/usr/bin/node)\n'],
    ['native/a.cc:1:2: runtime error: signed integer overflow\n    #0 f (/x/trellis.node)\n'],
  ])('takes every error of memory or behaviour for ours: %s', (text) => {
    expect(readReports(`${'='.repeat(65)}\n${text}${leakReport(NODES)}`).errors).toEqual([text.trimEnd()]);
  });
});

describe('readNativeCounts', () => {
  it('reads the last line of the native tests', () => {
    expect(readNativeCounts('  a test\n3 passed, 1 failed, 2 skipped\n')).toEqual({
      passed: 3,
      failed: 1,
      skipped: 2,
    });
  });

  it('knows no counts of a run that was cut short', () => {
    expect(readNativeCounts('  a test')).toBeNull();
  });
});
