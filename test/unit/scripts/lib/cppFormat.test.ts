// The check of the C++ sources' form, as `npm run lint` runs it.
// Guarantees: each place is told once; a machine without the program is told so, and fails under CI alone.
import { describe, expect, test } from 'vitest';
import { cppFindings, isCpp } from '../../../../scripts/lib/cppFormat.mjs';
import { CommandFailed } from '../../../../scripts/lib/run.mjs';

const FILES = ['native/a.cc', 'native/a.h'];

function checking(more: { output?: string; write?: boolean; ci?: boolean; isInstalled?: boolean }) {
  const said: string[] = [];
  const started: string[][] = [];
  const start = async (command: string, args: string[]) => {
    started.push([command, ...args]);
    if (more.output !== undefined)
      throw new CommandFailed({ command, outcome: 'exit code 1', output: more.output });
    return '';
  };
  const findings = cppFindings({
    files: FILES,
    write: more.write ?? false,
    cwd: '/tree',
    ci: more.ci ?? false,
    isInstalled: () => more.isInstalled ?? true,
    say: (text: string) => void said.push(text),
    start,
  });
  return { findings, said, started };
}

describe('the form of C++', () => {
  test('is asked of clang-format, for all files at once', async () => {
    const { findings, started } = checking({});
    expect(await findings).toEqual([]);
    expect(started).toEqual([['clang-format-14', '--dry-run', '--Werror', ...FILES]]);
  });

  test('is mended where that is asked', async () => {
    const { findings, started } = checking({ write: true });
    expect(await findings).toEqual([]);
    expect(started).toEqual([['clang-format-14', '-i', ...FILES]]);
  });

  test('is told by place, each once', async () => {
    const error = (line: number, column: number) =>
      `native/a.cc:${line}:${column}: error: code should be clang-formatted [-Wclang-format-violations]\n  int  a;\n     ^\n`;
    const { findings } = checking({ output: error(3, 5) + error(3, 9) + error(7, 1) });
    expect(await findings).toEqual([
      'native/a.cc:3: not in the form of .clang-format; run npm run format',
      'native/a.cc:7: not in the form of .clang-format; run npm run format',
    ]);
  });

  test('is told in the words of a program that failed otherwise', async () => {
    const { findings } = checking({ output: 'Invalid argument\n' });
    expect(await findings).toEqual(['Invalid argument']);
  });

  test('is not looked at without the program, which is said; under CI that is a finding', async () => {
    const here = checking({ isInstalled: false });
    expect(await here.findings).toEqual([]);
    expect(here.said).toEqual(['clang-format-14 is not installed: the C++ sources were not checked\n']);
    const there = checking({ isInstalled: false, ci: true });
    expect(await there.findings).toEqual([
      'clang-format-14 is not installed: the C++ sources were not checked',
    ]);
    expect([...here.started, ...there.started]).toEqual([]);
  });
});

test.each([
  ['native/base/fd.h', true],
  ['native/pause/pause.c', true],
  ['native/addon/addon.cc', true],
  ['native/CMakeLists.txt', false],
  ['src/a.ts', false],
])('%s is C++: %s', (path, expected) => {
  expect(isCpp(path)).toBe(expected);
});
