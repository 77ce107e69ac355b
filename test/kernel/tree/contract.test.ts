// The native walker on real file systems, with what hostile pods leave behind.
// Guarantees: every tree that a pod can make is removed, counted and owned, and nothing beside it is touched.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openTrees } from '../../../src/kernel/tree/adapter.js';
import { treeContract } from '../../support/contracts/tree.js';
import { describeWith } from '../../support/requires.js';

const trees = openTrees();
let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-tree-'));
});
afterEach(async () => {
  await trees.remove(root);
  expect(existsSync(root)).toBe(false);
});

const bytes = (directory: string, name: number[]) =>
  Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name)]);

/** So many directories in one another that no path names the last: made in two halves. */
function nest(directory: string, depth: number): void {
  const half = Array.from({ length: depth / 2 - 1 }, () => 'deep').join('/');
  for (const name of ['upper', 'lower']) mkdirSync(path.join(directory, name, half), { recursive: true });
  renameSync(path.join(directory, 'lower'), path.join(directory, 'upper', half, 'lower'));
}

describeWith({ root: true, tools: ['mount', 'umount'] }, 'native trees', () => {
  describe('contract', () =>
    treeContract(() => ({
      trees,
      root,
      plant: (at, { kind, mode, of, bytes: size = 0 }) => {
        if (kind === 'directory') mkdirSync(at);
        else if (kind === 'link') symlinkSync('/etc/passwd', at);
        else if (of !== undefined) linkSync(of, at);
        else writeFileSync(at, Buffer.alloc(size));
        if (mode !== undefined) chmodSync(at, mode);
      },
      look: (at) => {
        const found = lstatSync(at, { throwIfNoEntry: false });
        return found === undefined ? undefined : { gid: found.gid, mode: found.mode & 0o7777 };
      },
    })));

  test('names that are not UTF-8 are counted, owned and removed', async () => {
    const volume = path.join(root, 'volume');
    mkdirSync(volume);
    mkdirSync(bytes(volume, [0xff, 0xfe]));
    const file = bytes(volume, [0xff, 0xfe, 0x2f, 0xc3]);
    writeFileSync(file, Buffer.alloc(1 << 20), { mode: 0o600 });
    expect((await trees.measure(volume)).usedBytes).toBeGreaterThanOrEqual(1 << 20);
    await trees.own(volume, { gid: 4242, writable: true, unlessRootMatches: false });
    expect(lstatSync(file)).toMatchObject({ gid: 4242, mode: 0o100660 });
    await trees.remove(volume);
    expect(readdirSync(root)).toEqual([]);
  });

  test('1,500 directories in one another take a few descriptors', async () => {
    const before = readdirSync('/proc/self/fd').length;
    const volume = path.join(root, 'volume');
    mkdirSync(volume);
    nest(volume, 1_500);
    expect(await trees.measure(volume)).toMatchObject({ inodesUsed: 1_501, unread: 0 });
    const owned = await trees.own(volume, { gid: 4242, writable: true, unlessRootMatches: false });
    expect(owned).toEqual({ changed: 1_501, refused: 0 });
    await trees.remove(volume);
    expect(readdirSync(root)).toEqual([]);
    expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 4);
  });

  test('a mount inside is neither counted nor removed, also of the same file system', async () => {
    const volume = path.join(root, 'volume');
    const outside = path.join(root, 'outside');
    for (const directory of [volume, outside, `${volume}/mounted`]) mkdirSync(directory);
    writeFileSync(path.join(outside, 'precious'), Buffer.alloc(1 << 20));
    writeFileSync(path.join(volume, 'file'), '');
    execFileSync('mount', ['--bind', outside, `${volume}/mounted`]);
    try {
      expect((await trees.measure(volume)).usedBytes).toBeLessThan(1 << 20);
      await expect(trees.remove(volume)).rejects.toMatchObject({ code: 'EXDEV' });
      expect(readdirSync(outside)).toEqual(['precious']);
      expect(readdirSync(volume)).toEqual(['mounted']);
    } finally {
      execFileSync('umount', [`${volume}/mounted`]);
    }
  });

  test('what cannot be removed is told after all else is gone', async () => {
    const volume = path.join(root, 'volume');
    mkdirSync(path.join(volume, 'below'), { recursive: true });
    const kept = path.join(volume, 'below', 'kept');
    for (const name of ['a', 'below/kept', 'z']) writeFileSync(path.join(volume, name), '');
    execFileSync('mount', ['--bind', kept, kept]); // as immutable as a file can be everywhere
    try {
      await expect(trees.remove(volume)).rejects.toMatchObject({ code: 'EBUSY' });
      expect(readdirSync(volume)).toEqual(['below']);
    } finally {
      execFileSync('umount', [kept]);
    }
  });

  test('many files are removed while the event loop turns, and libuv keeps its threads', async () => {
    const volume = path.join(root, 'volume');
    mkdirSync(volume);
    execFileSync('sh', ['-c', 'seq 1 5000 | xargs touch'], { cwd: volume });
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const removals = [volume, volume, volume, volume].map((at) => trees.remove(at));
    // A read of libuv's own pool is answered while four walks are under way.
    expect(
      await new Promise((resolve) => import('node:fs').then(({ stat }) => stat(root, resolve))),
    ).toBeNull();
    await Promise.all(removals);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
    expect(readdirSync(root)).toEqual([]);
  });

  test.each([
    ['removeTree', "'/tmp/x\\0y'"],
    ['removeTree', "''"],
    ['measureTree', 'undefined'],
    ['ownTree', "'/tmp', { gid: -1, writable: true, unlessRootMatches: false }"],
    ['ownTree', "'/tmp', { gid: 1.5, writable: true, unlessRootMatches: false }"],
  ])('%s(%s) is refused before anything is done', async (name, argumentsOf) => {
    const addon = path.resolve(process.env['TRELLIS_ADDON'] ?? 'build/Release/trellis.node');
    const call = new Function('addon', `return addon.${name}(${argumentsOf})`);
    const { createRequire } = await import('node:module');
    expect(() => call(createRequire(import.meta.url)(addon))).toThrow(
      expect.objectContaining({ code: 'INVALID' }),
    );
  });
});

test('a worker thread that ends in the middle of calls ends no process and leaves no child', async () => {
  const addon = path.resolve(process.env['TRELLIS_ADDON'] ?? 'build/Release/trellis.node');
  const directory = mkdtempSync(path.join(tmpdir(), 'trellis-worker-'));
  const pidFile = path.join(directory, 'pid');
  const script = `
    const addon = require(${JSON.stringify(addon)});
    const options = { timeoutMs: 0, maxOutputBytes: 1, env: {} };
    for (let i = 0; i < 20; i++) addon.measureTree('/usr/share');
    for (let i = 0; i < 20; i++) addon.open('route', undefined);
    addon.run(['sh', '-c', 'echo $$ > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; exec sleep 1000'], undefined, [], options);
    const timer = setInterval(() => require('node:fs').existsSync(${JSON.stringify(pidFile)}) && process.exit(0), 5);`;
  for (let round = 0; round < 3; round++) {
    const worker = new Worker(script, { eval: true });
    await new Promise((resolve) => worker.once('exit', resolve));
    const pid = readFileSync(pidFile, 'utf8').trim();
    expect(existsSync(`/proc/${pid}`)).toBe(false);
    rmSync(pidFile);
  }
  rmSync(directory, { recursive: true });
});
