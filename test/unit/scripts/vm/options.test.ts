// The command line of the virtual-machine harness: what it takes and what it refuses.
import { describe, expect, test } from 'vitest';
import { asksForHelp, parseOptions, usage } from '../../../../scripts/vm/options.mjs';

describe('parseOptions', () => {
  test('has defaults for everything but the command', () => {
    expect(parseOptions(['--', 'true'], '/here')).toEqual({
      machine: undefined,
      timeoutSeconds: 600,
      memoryMb: 2048,
      cpus: 2,
      cwd: '/here',
      env: {},
      out: undefined,
      console: false,
      command: ['true'],
    });
  });

  test('takes values after a blank or an equals sign, and leaves the command alone', () => {
    const words = '--machine qemu --cpus=4 --memory-mb 512 --timeout-seconds=0 --cwd /w --out o --console';
    const env = ['--env', 'A=1=2', '--env=B='];
    const options = parseOptions([...words.split(' '), ...env, '--', 'sh', '-c', '--env x'], '/');
    expect(options).toEqual({
      machine: 'qemu',
      timeoutSeconds: 0,
      memoryMb: 512,
      cpus: 4,
      cwd: '/w',
      env: { A: '1=2', B: '' },
      out: 'o',
      console: true,
      command: ['sh', '-c', '--env x'],
    });
  });

  test.each([
    [[], /no command/],
    [['--'], /no command/],
    [['true'], /needs a value/],
    [['--nonsense', '1', '--', 'true'], /unknown option --nonsense/],
    [['--machine', 'kvm', '--', 'true'], /uml or qemu/],
    [['--cpus', '0', '--', 'true'], /at least 1/],
    [['--memory-mb', '1e9', '--', 'true'], /whole number/],
    [['--env', 'NAME', '--', 'true'], /NAME=VALUE/],
    [['--env', '1A=x', '--', 'true'], /NAME=VALUE/],
  ])('refuses %j', (words, message) => {
    expect(() => parseOptions(words as string[], '/')).toThrow(message as RegExp);
  });
});

test.each([
  [['--help'], true],
  [['--machine', 'qemu', '-h', '--', 'true'], true],
  [['--', 'npm', '--help'], false],
])('help is asked for by %j: %s', (argv, expected) => {
  expect(asksForHelp(argv)).toBe(expected);
  expect(usage).toContain('--help');
});
