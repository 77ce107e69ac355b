// As much of protobuf as the fake generator reads. Pure.
// Guarantees: the bytes that the native reader refuses are refused here, with the same code.
import { KernelError } from '../error.js';

type Field = { readonly number: number; readonly value: number | Uint8Array };

export function refuse(why: string): never {
  const operation = 'read list response';
  throw new KernelError([
    { code: 'EBADMSG', message: `${operation}: Bad message (${why})`, operation, kernel: why, errno: 74 },
  ]);
}

/** The fields of a message in order. */
export function* fields(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = bytes[at++] ?? refuse('the message ends within a number');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value < 1n << 64n ? value : refuse('a number has more than 64 bits');
    }
    return refuse('a number has more than 64 bits');
  };
  const take = (size: bigint): Uint8Array => {
    if (size > BigInt(bytes.length - at)) refuse('a field is longer than its message');
    const start = at;
    at += Number(size);
    return bytes.subarray(start, at);
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Number(tag >> 3n);
    if (number === 0 || tag >= 1n << 32n) refuse('a field has an impossible number');
    const type = Number(tag & 7n);
    if (type === 0) yield { number, value: Number(varint()) };
    else if (type === 2) yield { number, value: take(varint()) };
    else if (type === 1 || type === 5) {
      take(type === 1 ? 8n : 4n);
      yield { number, value: 0 };
    } else refuse('a field has an unknown wire type');
  }
}

export const message = ({ value }: Field): Uint8Array =>
  typeof value === 'number' ? refuse('a field that should hold a message or text holds a number') : value;

export const text = (field: Field): string => Buffer.from(message(field)).toString();

export const integer = ({ value }: Field): number =>
  typeof value === 'number' ? value : refuse('a field that should hold a number holds bytes');
