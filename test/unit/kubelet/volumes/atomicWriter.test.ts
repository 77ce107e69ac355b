// Volumes whose contents switch in one step.
// Guarantees: the layout of Kubernetes, no write without a change, nothing stale left.
import { chmod, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeAtomically } from '../../../../src/kubelet/volumes/atomicWriter.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'trellis-volume-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const write = (files: Record<string, string>, mode = 0o644) =>
  writeAtomically({
    dir,
    payload: new Map(Object.entries(files).map(([name, text]) => [name, { data: Buffer.from(text), mode }])),
    now: new Date(2026, 0, 2, 3, 4, 5),
  });
const read = (name: string) => readFile(path.join(dir, name), 'utf8');
const dated = async () => (await readdir(dir)).filter((name) => name.startsWith('..2'));

test('names link through ..data to a dated directory', async () => {
  expect(await write({ a: '1', 'sub/b': '2' })).toBe(true);
  expect(await readlink(path.join(dir, 'a'))).toBe('..data/a');
  expect(await readlink(path.join(dir, 'sub'))).toBe('..data/sub');
  expect(await readlink(path.join(dir, '..data'))).toMatch(/^\.\.2026_01_02_03_04_05\.[0-9a-f]{10}$/);
  expect(await read('sub/b')).toBe('2');
});

test('the same contents again write nothing', async () => {
  await write({ a: '1' });
  const before = await readlink(path.join(dir, '..data'));
  expect(await write({ a: '1' })).toBe(false);
  expect(await readlink(path.join(dir, '..data'))).toBe(before);
});

test.each<[string, () => Promise<boolean>]>([
  ['a changed file', () => write({ a: '2' })],
  ['a new file', () => write({ a: '1', b: '1' })],
  ['a file less', () => write({})],
  ['another mode', () => write({ a: '1' }, 0o600)],
])('%s makes a new directory and removes the old one', async (_, change) => {
  await write({ a: '1' });
  const [before] = await dated();
  expect(await change()).toBe(true);
  const after = await dated();
  expect(after).toHaveLength(1);
  expect(after).not.toContain(before);
});

test('names that are gone disappear, with what a crash left', async () => {
  await write({ a: '1', 'sub/b': '2' });
  await writeFile(path.join(dir, '..data_tmp'), 'left by a crash');
  await writeFile(path.join(dir, '..2020_01_01_00_00_00.1'), 'left by a crash');
  await write({ c: '3' });
  expect((await readdir(dir)).sort()).toEqual(['..data', ...(await dated()), 'c'].sort());
  expect(await read('c')).toBe('3');
});

test('a file becomes a directory of the same name', async () => {
  await write({ a: '1' });
  await write({ 'a/b': '2' });
  expect(await read('a/b')).toBe('2');
});

test('modes are as asked, whatever the umask', async () => {
  await write({ open: 'x' }, 0o666);
  expect((await stat(path.join(dir, 'open'))).mode & 0o777).toBe(0o666);
});

test('a change by another hand is put right', async () => {
  await write({ a: '1' });
  const file = path.join(dir, '..data', 'a');
  await chmod(file, 0o600);
  await writeFile(file, 'tampered');
  expect(await write({ a: '1' })).toBe(true);
  expect(await read('a')).toBe('1');
});

test('a failure before the switch leaves the old contents and nothing else', async () => {
  await write({ a: '1' });
  const payload = new Map([['a', { data: Buffer.from('2'), mode: 0o644 }]]);
  const prepare = () => Promise.reject(new Error('no'));
  await expect(writeAtomically({ dir, payload, now: new Date(), prepare })).rejects.toThrow('no');
  expect(await read('a')).toBe('1');
  expect(await dated()).toHaveLength(1);
});
