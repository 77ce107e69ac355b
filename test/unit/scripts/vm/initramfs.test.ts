// The initramfs: its archive format, the order of its modules, and the kernel taken out of a bzImage.
import { describe, expect, test } from 'vitest';
import { cpio, moduleLoadOrder, moduleName } from '../../../../scripts/vm/initramfs.mjs';
import { compressedKernel } from '../../../../scripts/vm/kernelImage.mjs';

/** An independent reader of the "newc" format. */
function readCpio(bytes: Buffer): { name: string; mode: number; text: string }[] {
  const found: { name: string; mode: number; text: string }[] = [];
  for (let at = 0; ; ) {
    expect(bytes.toString('latin1', at, at + 6)).toBe('070701');
    const field = (index: number) =>
      Number.parseInt(bytes.toString('latin1', at + 6 + index * 8, at + 14 + index * 8), 16);
    const nameEnd = at + 110 + field(11);
    const name = bytes.toString('utf8', at + 110, nameEnd - 1);
    if (name === 'TRAILER!!!') return found;
    const start = Math.ceil(nameEnd / 4) * 4;
    found.push({ name, mode: field(1), text: bytes.toString('utf8', start, start + field(6)) });
    at = Math.ceil((start + field(6)) / 4) * 4;
  }
}

describe('cpio', () => {
  test('lists directories before what is in them, and keeps the bytes', () => {
    const files = { '/init': Buffer.from('12345'), '/a/b/c': Buffer.from('x') };
    expect(readCpio(cpio(files))).toEqual([
      { name: 'a', mode: 0o040755, text: '' },
      { name: 'a/b', mode: 0o040755, text: '' },
      { name: 'init', mode: 0o100755, text: '12345' },
      { name: 'a/b/c', mode: 0o100755, text: 'x' },
    ]);
  });
});

describe('moduleLoadOrder', () => {
  const dep = [
    'fs/9p.ko: net/9pnet.ko fs/fscache.ko fs/netfs.ko',
    'net/9pnet.ko:',
    'fs/fscache.ko: fs/netfs.ko',
    'fs/netfs.ko:',
    'v.ko.xz:',
  ];

  test('loads what a module needs before it, each once', () => {
    const order = moduleLoadOrder(dep.join('\n'), ['9p', '9pnet', 'v', 'built-in']);
    expect(order).toEqual(['fs/netfs.ko', 'fs/fscache.ko', 'net/9pnet.ko', 'fs/9p.ko', 'v.ko.xz']);
  });

  test('knows modules by name, packed or not', () => {
    expect(['a/b_c.ko', 'b_c.ko.xz'].map(moduleName)).toEqual(['b_c', 'b_c']);
  });
});

describe('compressedKernel', () => {
  function bzImage(payload: Buffer): Buffer {
    const image = Buffer.alloc(1024 + 16 + payload.length + 4);
    image.write('HdrS', 0x202, 'latin1');
    image.writeUInt16LE(0x020f, 0x206);
    image.writeUInt8(1, 0x1f1);
    image.writeUInt32LE(16, 0x248);
    image.writeUInt32LE(payload.length + 4, 0x24c);
    payload.copy(image, 1024 + 16);
    return image;
  }

  test('finds the packed kernel and the program that unpacks it', () => {
    const payload = Buffer.from('fd377a585a00aabb', 'hex');
    expect(compressedKernel(bzImage(payload))).toEqual({ bytes: payload, unpack: ['xz', '-dc'] });
  });

  test('leaves alone what it does not know', () => {
    expect(compressedKernel(bzImage(Buffer.from('unknown')))).toBeNull();
    expect(compressedKernel(Buffer.alloc(4096))).toBeNull();
  });
});
