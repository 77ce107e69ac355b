// Paths of the node.
// Guarantees: each type is checked, two of them create, and the refusals are Kubernetes'.
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUpHostPath } from '../../../../src/kubelet/volumes/hostPath.js';

let dir: string;
const server = createServer();
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'trellis-host-'));
  await mkdir(path.join(dir, 'dir'));
  await writeFile(path.join(dir, 'file'), '');
  await symlink('file', path.join(dir, 'link'));
  await new Promise<void>((done) => server.listen(path.join(dir, 'sock'), done));
});
afterAll(async () => {
  await new Promise((done) => server.close(done));
  await rm(dir, { recursive: true, force: true });
});

test.each([
  ['dir', 'Directory'],
  ['dir', ''],
  ['missing', ''],
  ['file', 'File'],
  ['link', 'File'],
  ['link', 'FileOrCreate'],
  ['sock', 'Socket'],
  ['dir', 'DirectoryOrCreate'],
  ['/dev/null', 'CharDevice'],
])('%s as %j is taken', async (name, type) => {
  const full = path.resolve(dir, name);
  expect(await setUpHostPath({ path: full, type })).toBe(full);
});

test.each([
  ['file', 'Directory', 'is not a directory'],
  ['missing', 'Directory', 'is not a directory'],
  ['file', 'DirectoryOrCreate', 'is not a directory'],
  ['dir', 'File', 'is not a file'],
  ['dir', 'FileOrCreate', 'is not a file'],
  ['file', 'Socket', 'is not a socket file'],
  ['file', 'CharDevice', 'is not a character device'],
  ['file', 'BlockDevice', 'is not a block device'],
])('%s as %s is refused', async (name, type, words) => {
  const full = path.join(dir, name);
  const message = `hostPath type check failed: ${full} ${words}`;
  await expect(setUpHostPath({ path: full, type })).rejects.toThrow(message);
});

test('what the OrCreate types make', async () => {
  await setUpHostPath({ path: path.join(dir, 'new/deep'), type: 'DirectoryOrCreate' });
  await setUpHostPath({ path: path.join(dir, 'new/file'), type: 'FileOrCreate' });
  expect((await stat(path.join(dir, 'new/deep'))).isDirectory()).toBe(true);
  expect((await stat(path.join(dir, 'new/file'))).isFile()).toBe(true);
  const orphan = path.join(dir, 'none/file');
  await expect(setUpHostPath({ path: orphan, type: 'FileOrCreate' })).rejects.toThrow(
    `open ${orphan}: no such file or directory`,
  );
});

test('steps back and unknown types are refused', async () => {
  await expect(setUpHostPath({ path: '/a/../b' })).rejects.toThrow("must not contain '..'");
  await expect(setUpHostPath({ path: dir, type: 'Door' })).rejects.toThrow('Door is an invalid volume type');
});
