// Finding out which Debian packages are missing, and saying so.
// Guarantees: the probes work on files and tools, and a person is told what each package is for.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aptObstacle, describeMissing } from '../../../../scripts/lib/apt.mjs';
import { LEVELS, levelsFor } from '../../../../scripts/lib/levels.mjs';
import { isThere, matchesFile, missingPackages, PACKAGES } from '../../../../scripts/lib/packages.mjs';

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
    { name: 'a', levels: ['build'], probe: { tool: 'a' }, why: 'w' },
    { name: 'b', levels: ['bench', 'test'], probe: { file: '/b' }, why: 'w', arch: ['x64'] },
  ];

  test('are those whose probe finds nothing', () => {
    const find = (probe: { tool?: string }) => probe.tool === 'a';
    expect(
      missingPackages(['build', 'test'], { packages, arch: 'x64', find }).map(({ name }) => name),
    ).toEqual(['b']);
  });

  test('do not include what this architecture does not have', () => {
    const missing = missingPackages(['build', 'test'], { packages, arch: 'arm64', find: () => false });
    expect(missing.map(({ name }) => name)).toEqual(['a']);
  });

  test('do not include what belongs to no level that was asked for', () => {
    const missing = missingPackages(['build', 'run'], { packages, arch: 'x64', find: () => false });
    expect(missing.map(({ name }) => name)).toEqual(['a']);
  });
});

test('every package of the table has levels, a purpose and one probe', () => {
  for (const { name, levels, why, probe } of PACKAGES) {
    expect(levels, name).not.toEqual([]);
    for (const level of levels) expect(Object.keys(LEVELS), name).toContain(level);
    expect(why, name).not.toBe('');
    expect(Object.keys(probe), name).toHaveLength(1);
  }
});

test('the report names each package, its purpose and one command', () => {
  const text = describeMissing({
    missing: PACKAGES.filter(({ name }) => ['g++', 'cmake'].includes(name)),
    levels: levelsFor(['test']),
    reason: 'installing packages needs root',
  });
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
