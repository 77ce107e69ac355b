// Addresses and numbers as the bytes that registers hold, in hexadecimal. Pure.
// Guarantees: network byte order unless the name says otherwise; text that is no address is an error.
import { KernelError } from '../error.js';
import type { Hex } from './expression.js';

/** A number of `length` bytes in network byte order. */
export const bigEndian = (value: number | bigint, length: number): Hex =>
  value.toString(16).padStart(2 * length, '0');

/** The same bytes backwards: numbers such as marks lie in registers as the (little-endian) host has them. */
const reversed = (hex: Hex): Hex => (hex.match(/../g) ?? []).reverse().join('');

export const hostOrder = (value: number, length = 4): Hex => reversed(bigEndian(value, length));

const encoder = new TextEncoder();
const DIGITS = Array.from({ length: 256 }, (_, byte) => bigEndian(byte, 1));

/** Text, filled up with zeros. */
export function textBytes(text: string, length: number): Hex {
  let digits = '';
  for (const byte of encoder.encode(text)) digits += DIGITS[byte];
  return digits.padEnd(2 * length, '0');
}

/** The 4 or 16 bytes of an IP address. */
export function addressBytes(text: string): Hex {
  const bytes = text.includes(':') ? ipv6Bytes(text) : ipv4Bytes(text);
  if (bytes === undefined) throw KernelError.invalid(`'${text}' is not an IP address`);
  return bytes;
}

function ipv4Bytes(text: string): Hex | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return undefined;
  return parts.map((part) => bigEndian(Number(part), 1)).join('');
}

function ipv6Bytes(text: string): Hex | undefined {
  const tail = text.slice(text.lastIndexOf(':') + 1);
  if (tail.includes('.')) {
    const ipv4 = ipv4Bytes(tail);
    if (ipv4 === undefined) return undefined;
    return ipv6Bytes(`${text.slice(0, -tail.length)}${ipv4.slice(0, 4)}:${ipv4.slice(4)}`);
  }
  const halves = text.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const [head = [], rest] = halves;
  const missing = 8 - head.length - (rest?.length ?? 0);
  if (halves.length > 2 || (rest === undefined ? missing !== 0 : missing < 1)) return undefined;
  const groups = [...head, ...Array<string>(rest === undefined ? 0 : missing).fill('0'), ...(rest ?? [])];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  return groups.map((group) => group.toLowerCase().padStart(4, '0')).join('');
}

/** The bytes of a network mask of that many ones. */
export function maskBytes(ones: number, length: number): Hex {
  const bits = BigInt(8 * length);
  return bigEndian(((1n << bits) - 1n) ^ ((1n << (bits - BigInt(ones))) - 1n), length);
}
