// Whether the inputs of a build changed.
// Guarantees: touching is not changing; adding, removing, renaming and editing are.
import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkStamp, listFiles } from '../../../../scripts/lib/stamp.mjs';
import { orphans } from '../../../../scripts/lib/typescript.mjs';

let root = '';
const at = (...parts: string[]) => path.join(root, ...parts);
const check = (salt = '') =>
  checkStamp({ file: at('out', 'stamp'), root, inputs: ['src', 'gone', 'top.json'], salt });

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-stamp-'));
  mkdirSync(at('src', 'deep'), { recursive: true });
  writeFileSync(at('src', 'a.ts'), 'one');
  writeFileSync(at('src', 'deep', 'b.ts'), 'two');
  writeFileSync(at('top.json'), '{}');
  check().commit();
});
afterEach(() => rmSync(root, { recursive: true }));

test('nothing changed', () => {
  expect(check().fresh).toBe(true);
});

test('without a stamp, or with a broken one, everything changed', () => {
  writeFileSync(at('out', 'stamp'), '{"outl');
  expect(check().fresh).toBe(false);
  rmSync(at('out'), { recursive: true });
  expect(check().fresh).toBe(false);
});

test('a touched file is the same file, and the next look needs no hashing', () => {
  utimesSync(at('src', 'a.ts'), new Date(), new Date(Date.now() + 5000));
  expect(check().fresh).toBe(true);
  const before = statSync(at('out', 'stamp')).mtimeMs;
  expect(check().fresh).toBe(true);
  expect(statSync(at('out', 'stamp')).mtimeMs).toBe(before);
});

test.each<[string, () => void]>([
  ['an edited file', () => writeFileSync(at('src', 'a.ts'), 'three')],
  ['a new file', () => writeFileSync(at('src', 'deep', 'c.ts'), '')],
  ['a removed file', () => rmSync(at('src', 'deep', 'b.ts'))],
  ['a renamed file', () => renameSync(at('src', 'a.ts'), at('src', 'z.ts'))],
  ['an input that was not there before', () => writeFileSync(at('gone'), '')],
])('%s is a change', (_, change) => {
  change();
  expect(check().fresh).toBe(false);
});

test('another salt is a change, and the old one is remembered', () => {
  expect(check('v22')).toMatchObject({ fresh: false, previous: { salt: '' } });
});

test('what changes during a build is seen by the next look', () => {
  writeFileSync(at('src', 'a.ts'), 'before the build');
  const stamp = check();
  writeFileSync(at('src', 'a.ts'), 'during the build');
  stamp.commit();
  expect(check().fresh).toBe(false);
});

test('files are listed by path, in order', () => {
  expect(listFiles(root, ['top.json', 'src'])).toEqual(['src/a.ts', 'src/deep/b.ts', 'top.json']);
});

test('outputs without a source are orphans, and other files are left alone', () => {
  const compiled = ['src/a.js', 'src/a.js.map', 'src/a.d.ts', 'src/old.js', 'src/old.d.ts', 'src/note.txt'];
  expect(orphans(compiled, (source: string) => source === 'src/a.ts')).toEqual([
    'src/old.js',
    'src/old.d.ts',
  ]);
});
