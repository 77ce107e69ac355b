// Reads the protobuf wire format: tags, varints, and pieces of bytes. Pure.
// Guarantees: never reads beyond its bytes; what is malformed is refused, with no more work than its length.

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

interface WireField {
  readonly number: number;
  /** Varints as bigint, everything else as its bytes. */
  readonly value: bigint | Buffer;
}

export function* wireFields(bytes: Buffer): Generator<WireField> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at];
      if (byte === undefined) throw new ProtobufError('unexpected end of a message');
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
    }
    throw new ProtobufError('a number is too long');
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new ProtobufError('unexpected end of a message');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    if (number === 0) throw new ProtobufError('a field has no number');
    switch (tag % 8) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        yield { number, value: take(8) };
        break;
      case 2:
        yield { number, value: take(Number(varint())) };
        break;
      case 5:
        yield { number, value: take(4) };
        break;
      default:
        throw new ProtobufError('groups are not supported');
    }
  }
}

export function bytesOf(value: bigint | Buffer): Buffer {
  if (typeof value === 'bigint') throw new ProtobufError('a field has the wrong type');
  return value;
}

/** Signed: a negative number travels as its 64-bit two's complement. */
export function integerOf(value: bigint | Buffer): number {
  if (typeof value !== 'bigint') throw new ProtobufError('a field has the wrong type');
  return Number(BigInt.asIntN(64, value));
}
