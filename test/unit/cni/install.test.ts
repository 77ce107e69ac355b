// Installing the plugin executables.
// Guarantees: links stay links, files of other owners stay, and running it again changes nothing.
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { installPlugins } from '../../../src/cni/install.js';

let root = '';
let [from, to] = ['', ''];
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-install-'));
  [from, to] = [path.join(root, 'from'), path.join(root, 'opt', 'cni', 'bin')];
  mkdirSync(from);
  build('1');
  symlinkSync('trellis-cni', path.join(from, 'bridge'));
  symlinkSync('trellis-cni', path.join(from, 'host-local'));
});
afterEach(() => rmSync(root, { recursive: true }));

function build(version: string): void {
  writeFileSync(path.join(from, 'trellis-cni'), `\x7fELF trellis-cni ${version}`);
  chmodSync(path.join(from, 'trellis-cni'), 0o755);
}

const actions = async (force = false) =>
  (await installPlugins({ from, to, force })).map(({ name, action }) => `${action} ${name}`);
const installed = () => readFileSync(path.join(to, 'bridge'), 'utf8');

test('the executable and its links are installed, the executable first', async () => {
  expect(await actions()).toEqual(['installed trellis-cni', 'installed bridge', 'installed host-local']);
  expect(readdirSync(to).sort()).toEqual(['bridge', 'host-local', 'trellis-cni']);
  expect(readlinkSync(path.join(to, 'bridge'))).toBe('trellis-cni');
  expect(statSync(path.join(to, 'trellis-cni')).mode & 0o777).toBe(0o755);
});

test('again changes nothing', async () => {
  await actions();
  const before = statSync(path.join(to, 'trellis-cni')).ino;
  expect(await actions()).toEqual(['unchanged trellis-cni', 'unchanged bridge', 'unchanged host-local']);
  expect(statSync(path.join(to, 'trellis-cni')).ino).toBe(before);
});

test('a new build replaces the executable by a new file, not the bytes of the one that may be running', async () => {
  await actions();
  const before = statSync(path.join(to, 'trellis-cni')).ino;
  build('2');
  expect(await actions()).toEqual(['replaced trellis-cni', 'unchanged bridge', 'unchanged host-local']);
  expect(installed()).toContain('trellis-cni 2');
  expect(statSync(path.join(to, 'trellis-cni')).ino).not.toBe(before);
  expect(readdirSync(to)).toHaveLength(3);
});

test('hard links stay hard links', async () => {
  linkSync(path.join(from, 'trellis-cni'), path.join(from, 'portmap'));
  await actions();
  const inode = (name: string) => statSync(path.join(to, name)).ino;
  expect(inode('portmap')).toBe(inode('trellis-cni'));
  expect(await actions()).toContain('unchanged portmap');
  build('2');
  linkAgain();
  expect(await actions()).toContain('replaced portmap');
  expect(inode('portmap')).toBe(inode('trellis-cni'));
});

function linkAgain(): void {
  rmSync(path.join(from, 'portmap'));
  linkSync(path.join(from, 'trellis-cni'), path.join(from, 'portmap'));
}

describe('what another owner put there', () => {
  test.each([
    ['a plugin', () => writeFileSync(path.join(to, 'bridge'), 'reference bridge')],
    ['a link to something else', () => symlinkSync('/usr/lib/cni/bridge', path.join(to, 'bridge'))],
    ['a file under our name', () => writeFileSync(path.join(to, 'trellis-cni'), 'something else')],
  ])('stays: %s', async (_, put) => {
    mkdirSync(to, { recursive: true });
    put();
    const before = readdirSync(to);
    await expect(actions()).rejects.toMatchObject({
      code: 'INSTALL_REFUSED',
      message: expect.stringContaining('--force'),
    });
    expect(readdirSync(to)).toEqual(before);
  });

  test('goes by force', async () => {
    mkdirSync(to, { recursive: true });
    writeFileSync(path.join(to, 'bridge'), 'reference bridge');
    writeFileSync(path.join(to, 'macvlan'), 'not in our way');
    expect(await actions(true)).toContain('replaced bridge');
    expect(installed()).toContain('trellis-cni 1');
    expect(existsSync(path.join(to, 'macvlan'))).toBe(true);
  });

  test('is never a folder that we remove', async () => {
    mkdirSync(path.join(to, 'bridge'), { recursive: true });
    await expect(actions(true)).rejects.toThrow('is neither a file nor a link');
  });
});

test('a build that is not there is told', async () => {
  rmSync(path.join(from, 'trellis-cni'));
  await expect(actions()).rejects.toThrow('has no trellis-cni; npm run build makes it');
  rmSync(from, { recursive: true });
  await expect(actions()).rejects.toMatchObject({ code: 'INSTALL_REFUSED' });
  mkdirSync(from);
});
