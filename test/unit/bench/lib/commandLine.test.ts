// What `npm run bench` understands, and what it refuses.
import { describe, expect, test } from 'vitest';
import { BENCHMARKS } from '../../../../bench/groups.js';
import { parseCommandLine, selected, UsageError, usage } from '../../../../bench/lib/commandLine.js';

const known = ['native/veth', 'native/routes', 'cni/add'];

describe('the command line of the benchmarks', () => {
  test('fails for a missed goal unless told otherwise', () => {
    expect(parseCommandLine([], known)).toMatchObject({ fail: true, docs: false, names: [] });
    expect(parseCommandLine(['--no-fail', 'cni'], known)).toMatchObject({ fail: false, names: ['cni'] });
  });

  test('asks for help', () => {
    for (const flag of ['--help', '-h']) expect(parseCommandLine(['nosuch', flag], known)).toBeUndefined();
  });

  test.each([
    [['nosuch'], 'no benchmark is called nosuch; there are: native/veth, native/routes, cni/add'],
    [['nati'], 'no benchmark is called nati'],
    [['--nosuch'], '--nosuch'],
    [['--runs', '0'], '--runs must be'],
    [['--scale', '2'], '--scale must be'],
    [['--docs', '--scale', '0.5'], '--docs wants the whole size'],
  ])('refuses %j', (args, words) => {
    expect(() => parseCommandLine(args, known)).toThrow(UsageError);
    expect(() => parseCommandLine(args, known)).toThrow(words);
  });

  test('means all, a group or one', () => {
    expect(selected([], known)).toEqual(known);
    expect(selected(['native'], known)).toEqual(['native/veth', 'native/routes']);
    expect(selected(['cni/add'], known)).toEqual(['cni/add']);
  });

  test('lists every benchmark in its help', () => {
    const help = usage(BENCHMARKS.map(({ name }) => name));
    for (const { name } of BENCHMARKS) expect(help).toContain(`\n  ${name}\n`);
    expect(BENCHMARKS.length).toBeGreaterThan(30);
  });
});
