// As much of an ELF header as tells whether a program runs alone in an image. Pure.
// Guarantees: whatever the bytes are, an answer and no exception.

const PT_INTERP = 3;
const MAX_HEADERS = 1_000;

/** True for a 64-bit little-endian program that names no loader, which is what static linking means. */
export function isStaticProgram(bytes: Buffer): boolean {
  const isElf64 = bytes.length >= 64 && bytes.readUInt32BE(0) === 0x7f454c46;
  if (!isElf64 || bytes[4] !== 2 || bytes[5] !== 1) return false;
  const offset = Number(bytes.readBigUInt64LE(32));
  const [size, count] = [bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
  if (count === 0 || count > MAX_HEADERS || size < 4 || offset + size * count > bytes.length) return false;
  for (let i = 0; i < count; i++) if (bytes.readUInt32LE(offset + i * size) === PT_INTERP) return false;
  return true;
}
