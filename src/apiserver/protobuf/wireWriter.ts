// Writes the protobuf wire format into one growing buffer. The counterpart of wire.ts.
// Guarantees: a message's length is right however deep it nests; nothing is copied but when the buffer grows or a long length is put in.

const FIRST_SIZE = 2048;
/** Its length takes one byte. */
const SHORT = 0x80;

export class WireWriter {
  #buffer = Buffer.allocUnsafe(FIRST_SIZE);
  #at = 0;

  /** What was written; the writer must not be used any more. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#at);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  bytes(number: number, value: Uint8Array): void {
    this.#tag(number, 2);
    this.#varint(value.length);
    this.raw(value);
  }

  text(number: number, value: string): void {
    this.#tag(number, 2);
    if (value.length < SHORT && this.#ascii(value)) return;
    const length = Buffer.byteLength(value);
    this.#varint(length);
    this.#reserve(length);
    this.#buffer.write(value, this.#at);
    this.#at += length;
  }

  /** Most texts are short and ASCII, where two calls into the runtime cost more than the bytes. False, and nothing done, otherwise. */
  #ascii(value: string): boolean {
    const { length } = value;
    this.#reserve(length + 1);
    const buffer = this.#buffer;
    const start = this.#at + 1;
    for (let i = 0; i < length; i += 1) {
      const code = value.charCodeAt(i);
      if (code >= 0x80) return false;
      buffer[start + i] = code;
    }
    buffer[this.#at] = length;
    this.#at = start + length;
    return true;
  }

  integer(number: number, value: number): void {
    this.#tag(number, 0);
    if (value >= 0) this.#varint(value);
    else this.#negative(value);
  }

  double(number: number, value: number): void {
    this.#tag(number, 1);
    this.#reserve(8);
    this.#at = this.#buffer.writeDoubleLE(value, this.#at);
  }

  /** The start of a field whose bytes are written elsewhere. */
  lengthOf(number: number, length: number): void {
    this.#tag(number, 2);
    this.#varint(length);
  }

  /** A message inside this one: what `write` writes. */
  message(number: number, write: () => void): void {
    this.#tag(number, 2);
    // One byte is enough for most; a longer length moves the content.
    this.#reserve(1);
    const start = this.#at;
    this.#at += 1;
    write();
    const length = this.#at - start - 1;
    const more = varintSize(length) - 1;
    if (more > 0) {
      this.#reserve(more);
      this.#buffer.copyWithin(start + 1 + more, start + 1, this.#at);
    }
    const end = this.#at + more;
    this.#at = start;
    this.#varint(length);
    this.#at = end;
  }

  #tag(number: number, type: number): void {
    this.#varint(number * 8 + type);
  }

  #varint(value: number): void {
    this.#reserve(10);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#at++] = rest;
  }

  /** As its 64-bit two's complement, always ten bytes. */
  #negative(value: number): void {
    this.#reserve(10);
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest >= 0x80n) {
      this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#buffer[this.#at++] = Number(rest);
  }

  #reserve(length: number): void {
    const needed = this.#at + length;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size += 1;
  return size;
}
