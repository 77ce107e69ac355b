// Takes the compressed kernel out of a bzImage, so that the host unpacks it and not the emulated processor.
// Guarantees: pure; returns null for an image it does not know, which qemu can then boot as it is.

const formats = Object.freeze([
  { magic: Buffer.from('fd377a585a00', 'hex'), unpack: ['xz', '-dc'] },
  { magic: Buffer.from('28b52ffd', 'hex'), unpack: ['zstd', '-dc'] },
  { magic: Buffer.from('1f8b08', 'hex'), unpack: ['gzip', '-dc'] },
]);

/** Offsets of the header are those of the kernel's Documentation/x86/boot.rst, protocol 2.08 or newer. */
export function compressedKernel(image) {
  if (image.length < 0x260 || image.toString('latin1', 0x202, 0x206) !== 'HdrS') return null;
  if (image.readUInt16LE(0x206) < 0x0208) return null;
  const setupSectors = image.readUInt8(0x1f1) || 4;
  const start = (setupSectors + 1) * 512 + image.readUInt32LE(0x248);
  // The last four bytes are the length of what is packed, put there for the kernel's own unpacker.
  const bytes = image.subarray(start, start + image.readUInt32LE(0x24c) - 4);
  const format = formats.find(({ magic }) => bytes.subarray(0, magic.length).equals(magic));
  return format === undefined ? null : { bytes, unpack: format.unpack };
}
