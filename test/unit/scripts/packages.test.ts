// Finding out which Debian packages are missing, and saying so.
// Guarantees: the probes work on files and tools, and a person is told what each package is for.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aptObstacle, describeMissing } from '../../../scripts/lib/apt.mjs';
import { isThere, matchesFile, missingPackages, PACKAGES } from '../../../scripts/lib/packages.mjs';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'trellis-packages-'));
  mkdirSync(path.join(folder, 'clang', '14.0.6', 'lib'), { recursive: true });
  writeFileSync(path.join(folder, 'clang', '14.0.6', 'lib', 'libfuzzer-x86_64.a'), '');
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ['clang/14.0.6/lib/libfuzzer-x86_64.a', true],
  ['clang/*/lib/libfuzzer-*.a', true],
  ['clang/*/lib/libasan-*.a', false],
  ['gcc/*/lib', false],
  ['clang/*/lib/libfuzzer-*a.a', false],
  ['clang/14*0*6/lib', true],
])('the pattern %s', (pattern, expected) => {
  expect(matchesFile(path.join(folder, pattern))).toBe(expected);
});

test('a tool is found on PATH', () => {
  expect(isThere({ tool: 'sh' })).toBe(true);
  expect(isThere({ tool: 'no-such-tool-as-this' })).toBe(false);
});

describe('missing packages', () => {
  const packages = [
    { name: 'a', level: 'build', probe: { tool: 'a' }, why: 'w' },
    { name: 'b', level: 'test', probe: { file: '/b' }, why: 'w', arch: ['x64'] },
  ];

  test('are those whose probe finds nothing', () => {
    const find = (probe: { tool?: string }) => probe.tool === 'a';
    expect(missingPackages({ packages, arch: 'x64', find }).map(({ name }) => name)).toEqual(['b']);
  });

  test('do not include what this architecture does not have', () => {
    expect(missingPackages({ packages, arch: 'arm64', find: () => false }).map(({ name }) => name)).toEqual([
      'a',
    ]);
  });
});

test('every package of the table has a level, a purpose and one probe', () => {
  for (const { name, level, why, probe } of PACKAGES) {
    expect(['build', 'run', 'test'], name).toContain(level);
    expect(why, name).not.toBe('');
    expect(Object.keys(probe), name).toHaveLength(1);
  }
});

test('the report names each package, its purpose and one command', () => {
  const text = describeMissing(
    PACKAGES.filter(({ name }) => ['g++', 'cmake'].includes(name)),
    'installing packages needs root',
  );
  expect(text).toBe(
    [
      'Missing, because installing packages needs root:',
      '  g++    needed to build: compiles the native core',
      '  cmake  needed to test: drives the sanitizer and fuzzer builds',
      'To get them on Debian or Ubuntu (elsewhere, the packages of your system that hold the same tools):',
      '  sudo apt-get update && sudo apt-get install -y --no-install-recommends g++ cmake',
    ].join('\n'),
  );
});

test.each([
  ['no apt-get', { uid: 0, hasApt: false }, 'this system has no apt-get'],
  ['no root', { uid: 1000, hasApt: true }, 'installing packages needs root'],
  ['neither obstacle', { uid: 0, hasApt: true }, null],
])('apt with %s', (_, machine, expected) => {
  expect(aptObstacle(machine)).toBe(expected);
});
