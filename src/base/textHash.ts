// A short name for a text, the same on every machine and in every run. Pure.
// Guarantees: 13 lower-case letters and digits. Not for secrets: whoever wants two texts of one hash can find them.

/** FNV-1a over 64 bits. */
export function textHash(text: string): string {
  let value = 0xcbf29ce484222325n;
  for (let i = 0; i < text.length; i++) {
    value = ((value ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return value.toString(36).padStart(13, '0');
}
