import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { busyboxEntries, busyboxImage, pauseImage } from '../../../src/cluster/images/builtin.js';
import { isStaticProgram } from '../../../src/cluster/images/elf.js';
import { buildImage } from '../../../src/cluster/images/image.js';
import { writeTar } from '../../../src/cluster/images/tar.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'trellis-images-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** The smallest header of a program: one segment, of the type given. */
function program(segment: number): Buffer {
  const bytes = Buffer.alloc(64 + 56);
  bytes.write('\x7fELF\x02\x01', 0, 'latin1');
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(segment, 64);
  return bytes;
}

describe('tar archives', () => {
  test('are unpacked by tar as they were meant', () => {
    const archive = writeTar([
      { kind: 'directory', path: 'tmp', mode: 0o1777 },
      { kind: 'file', path: 'tmp/hello', mode: 0o755, content: Buffer.from('x'.repeat(513)) },
      { kind: 'file', path: 'empty', content: Buffer.alloc(0) },
      { kind: 'symlink', path: 'link', target: 'tmp/hello' },
    ]);
    expect(archive.length % 512).toBe(0);
    execFileSync('tar', ['-xpf', '-', '-C', directory], { input: archive });
    expect(statSync(path.join(directory, 'tmp')).mode & 0o7777).toBe(0o1777);
    expect(statSync(path.join(directory, 'tmp/hello'))).toMatchObject({ size: 513, mtimeMs: 0 });
    expect(statSync(path.join(directory, 'empty')).mode & 0o777).toBe(0o644);
    expect(readlinkSync(path.join(directory, 'link'))).toBe('tmp/hello');
  });

  test('a name that a header cannot hold is refused', () => {
    expect(() => writeTar([{ kind: 'directory', path: 'x'.repeat(100) }])).toThrow(RangeError);
  });
});

describe('images', () => {
  const image = () =>
    buildImage({
      name: 'busybox',
      tags: ['latest'],
      architecture: 'amd64',
      entries: busyboxEntries(Buffer.from('program'), ['sh', 'ls']),
      run: { Cmd: ['sh'] },
    });

  test('bind layer, config and manifest by digest and size', () => {
    const { manifest, config, layer } = image();
    for (const blob of [manifest, config, layer])
      expect(blob.digest).toBe(`sha256:${createHash('sha256').update(blob.bytes).digest('hex')}`);
    const read = JSON.parse(String(manifest.bytes));
    expect(read.config).toMatchObject({ digest: config.digest, size: config.bytes.length });
    expect(read.layers).toMatchObject([{ digest: layer.digest, size: layer.bytes.length }]);
    expect(JSON.parse(String(config.bytes))).toMatchObject({
      architecture: 'amd64',
      os: 'linux',
      config: { Cmd: ['sh'] },
      rootfs: { diff_ids: [layer.digest] },
    });
  });

  test('are the same whenever they are made', () => {
    expect(image().manifest.digest).toBe(image().manifest.digest);
  });

  test('busybox has its applets as links, users, and a directory for everyone', () => {
    execFileSync('tar', ['-xpf', '-', '-C', directory], { input: image().layer.bytes });
    expect(readlinkSync(path.join(directory, 'bin/sh'))).toBe('busybox');
    expect(readFileSync(path.join(directory, 'etc/passwd'), 'utf8')).toMatch(/^root:x:0:0:/);
    expect(statSync(path.join(directory, 'tmp')).mode & 0o7777).toBe(0o1777);
  });

  test('pause is made of a static program alone', async () => {
    const file = path.join(directory, 'pause');
    writeFileSync(file, program(1));
    const { config, tags } = await pauseImage(file);
    expect(tags).toEqual(['latest']);
    expect(JSON.parse(String(config.bytes)).config).toMatchObject({
      Entrypoint: ['/pause'],
      User: '65535:65535',
    });
  });

  test('a program that needs a loader, and one that is missing, are refused with advice', async () => {
    const file = path.join(directory, 'busybox');
    await expect(busyboxImage([file])).rejects.toMatchObject({ code: 'MISSING_PROGRAM' });
    writeFileSync(file, program(3));
    await expect(busyboxImage([file])).rejects.toMatchObject({ name: 'ClusterError' });
    await expect(busyboxImage([file])).rejects.toThrow('busybox-static');
  });

  test.each([
    ['a static program', program(1), true],
    ['a program with a loader', program(3), false],
    ['a script', Buffer.from('#!/bin/sh\n'.repeat(20)), false],
    ['nothing', Buffer.alloc(0), false],
    ['a header that points outside', program(1).subarray(0, 100), false],
  ])('%s is told apart', (_, bytes, is) => {
    expect(isStaticProgram(bytes)).toBe(is);
  });
});
