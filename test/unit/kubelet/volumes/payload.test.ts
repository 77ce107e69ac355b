// Which files a volume holds.
// Guarantees: hostile paths are refused before anything is written.
import { expect, test } from 'vitest';
import { parseMountInfo } from '../../../../src/kernel/mountInfo.js';
import { checkedPath, checkPayload, selectKeys } from '../../../../src/kubelet/volumes/payload.js';
import { subPathElements } from '../../../../src/kubelet/volumes/subPath.js';

test.each([['a'], ['a/b'], ['a..b'], ['./a'], ['a//b'], ['.hidden'], ['a/..b']])(
  'the path %s is taken',
  (name) => {
    expect(checkedPath(name)).not.toMatch(/\/\/|^\.\/|^\//);
  },
);

test.each([
  [''],
  ['/etc/passwd'],
  ['..'],
  ['../a'],
  ['a/../b'],
  ['a/..'],
  ['..data'],
  ['..x/y'],
  ['.'],
  ['a\0b'],
])('the path %j is refused', (name) => {
  expect(() => checkedPath(name)).toThrow(/invalid path/);
});

test.each([['x'.repeat(256)], ['a/'.repeat(2049)]])('a path that is too long is refused', (name) => {
  expect(() => checkedPath(name)).toThrow(/at most/);
});

const data = new Map([
  ['k1', Buffer.from('1')],
  ['k2', Buffer.from('2')],
]);
const missingKey = (key: string) => `no ${key}`;

test('all keys, or the listed ones at their paths with their modes', () => {
  const all = selectKeys({ data, items: undefined, defaultMode: 0o640, optional: false, missingKey });
  expect([...all]).toEqual([
    ['k1', { data: Buffer.from('1'), mode: 0o640 }],
    ['k2', { data: Buffer.from('2'), mode: 0o640 }],
  ]);
  const items = [{ key: 'k2', path: 'x/y', mode: 0o400 }];
  expect([...selectKeys({ data, items, defaultMode: 0o640, optional: false, missingKey })]).toEqual([
    ['x/y', { data: Buffer.from('2'), mode: 0o400 }],
  ]);
});

test('a listed key that is not there is refused, unless it may be missing', () => {
  const items = [{ key: 'k3', path: 'x' }];
  const ask = (optional: boolean) => selectKeys({ data, items, defaultMode: 0o644, optional, missingKey });
  expect(() => ask(false)).toThrow('no k3');
  expect(ask(true).size).toBe(0);
});

test('a file where another source wants a directory is refused', () => {
  const file = { data: Buffer.from(''), mode: 0o644 };
  expect(() =>
    checkPayload(
      new Map([
        ['a', file],
        ['a/b', file],
      ]),
    ),
  ).toThrow('conflicting paths');
});

test.each([['/a'], ['..'], ['a/../../b'], ['a\0']])('the subPath %j is refused', (subPath) => {
  expect(() => subPathElements(subPath)).toThrow(/SubPath/);
});

test('mount points are read with their escapes', () => {
  const text =
    '22 1 0:5 / /proc rw - proc proc rw\n23 1 0:6 / /a\\040b/c\\134d rw shared:1 - tmpfs tmpfs rw\n';
  expect(parseMountInfo(text)).toEqual(['/proc', '/a b/c\\d']);
});
