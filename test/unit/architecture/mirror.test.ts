// Guards the rule that unit tests lie where their sources lie and bear their names.
// Guarantees: the guard itself is shown to catch each kind of violation, so it cannot pass by being blind.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { misplacedTests } from './mirror.js';

const below = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`);

test('unit tests mirror the sources', () => {
  const sources = ['src', 'proxy-modes', 'scripts', 'bench', 'native', 'test/support'].flatMap(below);
  const tests = below('test/unit')
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => ({ path: file.slice('test/unit/'.length), text: readFileSync(file, 'utf8') }));
  expect(tests.length).toBeGreaterThan(300);
  expect(misplacedTests(tests, sources)).toEqual([]);
});

describe('the guard', () => {
  const sources = [
    'src/api/pod.ts',
    'src/api/node/taint.ts',
    'scripts/lib/lock.mjs',
    'test/support/needs.ts',
  ];
  const found = (path: string, ...imports: string[]) =>
    misplacedTests(
      [{ path, text: imports.map((name) => `import { x } from '${name}';\n`).join('') }],
      sources,
    );

  test.each([
    [
      'a test of one source under another name',
      'api/husk.test.ts',
      '../../../src/api/pod.js',
      'api/pod alone',
    ],
    [
      'a test that lies above its source',
      'api/taint.test.ts',
      '../../../src/api/node/taint.js',
      'taint alone',
    ],
    ['a folder that no source has', 'things/pod.test.ts', '../../../src/api/pod.js', 'no sources lie in'],
  ])('catches %s', (_, path, imported, words) => {
    expect(found(path, imported).join('\n')).toContain(words);
  });

  test('lets pass a source, a folder, a part of a source, a script, and a subject of several sources', () => {
    expect(found('api/pod.test.ts', '../../../src/api/pod.js')).toEqual([]);
    expect(found('api/node.test.ts', '../../../src/api/node/taint.js')).toEqual([]);
    expect(found('api/podPhase.test.ts', '../../../src/api/pod.js')).toEqual([]);
    expect(found('scripts/lib/lock.test.ts', '../../../../scripts/lib/lock.mjs')).toEqual([]);
    expect(found('support/needs.test.ts', '../../support/needs.js')).toEqual([]);
    expect(found('api/both.test.ts', '../../../src/api/pod.js', '../../../src/api/node/taint.js')).toEqual(
      [],
    );
  });
});
