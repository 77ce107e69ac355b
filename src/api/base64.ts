// Base64 of text without Node's Buffer, because this room is pure. Pure.
// Guarantees: the standard alphabet with padding (RFC 4648, section 4) over the text's UTF-8 bytes.

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

export function base64OfText(text: string): string {
  return base64OfBytes(new TextEncoder().encode(text));
}

function base64OfBytes(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(at, at + 3);
    const word = (a << 16) | (b << 8) | c;
    const letters = [18, 12, 6, 0].map((shift) => ALPHABET.charAt((word >> shift) & 63)).join('');
    const present = Math.min(3, bytes.length - at);
    parts.push(letters.slice(0, present + 1).padEnd(4, '='));
  }
  return parts.join('');
}
