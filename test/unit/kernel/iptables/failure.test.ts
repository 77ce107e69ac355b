import { describe, expect, test } from 'vitest';
import { restoreError, toolError } from '../../../../src/kernel/iptables/failure.js';

const lines = ['*filter', ':FOO - [0:0]', '-A FOO -j NOPE', '-A FOO -j ACCEPT', 'COMMIT'];
const advice = "Try `iptables-restore -h' or 'iptables-restore --help' for more information.\n";

const failed = (stderr: string, status: number | null = 1) => ({
  tool: 'iptables-nft-restore',
  stderr,
  status,
  signal: status === null ? 'SIGKILL' : null,
});

describe('the line at fault', () => {
  test.each<[string, string, number, string]>([
    ['legacy, a command', 'iptables-restore: line 4 failed\n', 3, 'line 4 failed'],
    [
      'legacy, a parameter',
      `iptables-restore v1.8.9 (legacy): Couldn't load target \`NOPE':No such file or directory\n\nError occurred at line: 3\n${advice}`,
      2,
      "Couldn't load target `NOPE':No such file or directory",
    ],
    [
      'legacy, a policy',
      "iptables-restore v1.8.9 (legacy): Can't set policy `ACCEPT' on `FOO' line 2: Bad built-in chain name\n",
      1,
      "Can't set policy `ACCEPT' on `FOO' line 2: Bad built-in chain name",
    ],
    [
      'legacy, a table',
      `iptables-restore v1.8.9 (legacy): iptables-restore: unable to initialize table 'nope'\nError occurred at line: 1\n${advice}`,
      0,
      "unable to initialize table 'nope'",
    ],
    [
      'nft, a command',
      'iptables-nft-restore: line 4 failed: No chain/target/match by that name.\n',
      3,
      'line 4 failed: No chain/target/match by that name.',
    ],
    [
      'nft, at commit',
      'iptables-nft-restore v1.8.9 (nf_tables): \nline 4: RULE_APPEND failed (Invalid argument): rule in chain FOO\n',
      3,
      'RULE_APPEND failed (Invalid argument): rule in chain FOO',
    ],
    [
      'nft, a jump to nowhere, told of the COMMIT',
      `iptables-nft-restore v1.8.9 (nf_tables): Chain 'NOPE' does not exist\nError occurred at line: 5\n${advice}`,
      2,
      "Chain 'NOPE' does not exist",
    ],
    ['no COMMIT', 'iptables-nft-restore: COMMIT expected at line 6\n', 4, 'COMMIT expected at line 6'],
    [
      'a warning before',
      `Warning: Extension foo revision 0 not supported, missing kernel module?\niptables-restore: line 4 failed\n`,
      3,
      'Warning: Extension foo revision 0 not supported, missing kernel module?; line 4 failed',
    ],
    ["an unnamed one's words", "Bad argument `-A'\nError occurred at line: 4\n", 3, "Bad argument `-A'"],
  ])('%s', (_, stderr, index, sentence) => {
    const error = restoreError(failed(stderr), lines);
    expect(error).toMatchObject({ code: 'EINVAL', index, operation: lines[index], kernel: sentence });
    expect(error.message).toContain(`line ${index + 1}`);
    expect(error.message).toContain(sentence);
  });

  test('every line that nft refuses at commit is told', () => {
    const stderr =
      'ip6tables-nft-restore v1.8.9 (nf_tables): \nline 3: RULE_APPEND failed (No such file or directory): rule in chain FOO\nline 4: RULE_APPEND failed (Too many links): rule in chain FOO\n';
    const error = restoreError(failed(stderr, 4), lines);
    expect(error.failures.map(({ index }) => index)).toEqual([2, 3]);
  });

  test('a jump of an earlier table is not blamed', () => {
    const twice = ['*nat', '-A X -j NOPE', 'COMMIT', '*filter', '-A Y -j Z', 'COMMIT'];
    const stderr =
      "iptables-nft-restore v1.8.9 (nf_tables): Chain 'NOPE' does not exist\nError occurred at line: 6\n";
    expect(restoreError(failed(stderr, 2), twice).index).toBe(5);
  });
});

describe('failures that are no line’s fault', () => {
  test.each<[string, string, string]>([
    [
      'the lock',
      'Another app is currently holding the xtables lock; still 1s 0us time ahead to have a chance to grab the lock...\nAnother app is currently holding the xtables lock. Perhaps you want to use the -w option?\n',
      'EAGAIN',
    ],
    [
      'no rights',
      'iptables-nft-restore v1.8.9 (nf_tables): Could not fetch rule set generation id: Permission denied (you must be root)\n',
      'EPERM',
    ],
  ])('%s', (_, stderr, code) => {
    const error = restoreError(failed(stderr, 4), lines);
    expect(error.code).toBe(code);
    expect(error.index).toBeUndefined();
    expect(toolError(failed(stderr, 4)).code).toBe(code);
  });

  test('a signal', () => {
    expect(restoreError(failed('', null), lines).message).toContain('SIGKILL');
  });

  test('silence', () => {
    expect(restoreError(failed(''), lines)).toMatchObject({
      code: 'EINVAL',
      operation: 'iptables-nft-restore',
    });
  });
});
