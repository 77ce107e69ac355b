// Distinguished Encoding Rules (X.690, section 10): the elements of a value, read one after another. Pure.
// Guarantees: only the one encoding that every reader agrees on is read; never throws and never reads outside the bytes.

export const TAG = { sequence: 0x30, set: 0x31, integer: 0x02, bits: 0x03, objectId: 0x06, attributes: 0xa0 };

export interface DerElement {
  readonly tag: number;
  readonly body: Uint8Array;
}

/** The elements that fill the bytes; undefined when they do not, or when a length is not in its shortest form. */
export function derElements(bytes: Uint8Array): readonly DerElement[] | undefined {
  const found: DerElement[] = [];
  let at = 0;
  while (at < bytes.length) {
    const head = headAt(bytes, at);
    if (head === undefined) return undefined;
    const end = head.start + head.length;
    if (end > bytes.length) return undefined;
    found.push({ tag: bytes[at] ?? 0, body: bytes.subarray(head.start, end) });
    at = end;
  }
  return found;
}

/** What a constructed element of that tag holds. */
export function insideOf(element: DerElement | undefined, tag: number): readonly DerElement[] | undefined {
  return element?.tag === tag ? derElements(element.body) : undefined;
}

const LONG_FORM = 0x80;
const MOST_DIGITS = 3;

function headAt(
  bytes: Uint8Array,
  at: number,
): { readonly start: number; readonly length: number } | undefined {
  const first = bytes[at + 1];
  // Tags above 30 take more bytes; none of them is in a certificate request.
  if (first === undefined || ((bytes[at] ?? 0) & 0x1f) === 0x1f) return undefined;
  if (first < LONG_FORM) return { start: at + 2, length: first };
  const digits = first - LONG_FORM;
  if (digits === 0 || digits > MOST_DIGITS || at + 2 + digits > bytes.length) return undefined;
  const length = bytes.subarray(at + 2, at + 2 + digits).reduce((sum, digit) => sum * 256 + digit, 0);
  const isShortest = length >= LONG_FORM && bytes[at + 2] !== 0;
  return isShortest ? { start: at + 2 + digits, length } : undefined;
}

/** As dots and numbers; undefined when a number does not end or begins with zeros, which readers disagree on. */
export function objectIdOf({ tag, body }: DerElement): string | undefined {
  const numbers: number[] = [];
  let number = 0;
  let isOpen = false;
  for (const byte of body) {
    if (!isOpen && byte === 0x80) return undefined;
    number = number * 128 + (byte & 0x7f);
    if (number > Number.MAX_SAFE_INTEGER) return undefined;
    isOpen = byte >= 0x80;
    if (isOpen) continue;
    numbers.push(number);
    number = 0;
  }
  const [first] = numbers;
  if (tag !== TAG.objectId || isOpen || first === undefined) return undefined;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...numbers.slice(1)].join('.');
}

const UTF8_STRING = 0x0c;
const PRINTABLE_STRING = 0x13;
const IA5_STRING = 0x16;
const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?*&]*$/;
const PLAIN = /^[\x20-\x7e]*$/;

/**
 * The text of a primitive string. Undefined for types that readers take for different texts (teletex, universal, BMP),
 * for characters that the type does not have, and for control characters, at which some readers stop.
 */
export function textOf({ tag, body }: DerElement): string | undefined {
  const text = utf8Of(body);
  if (text === undefined) return undefined;
  if (tag === PRINTABLE_STRING) return PRINTABLE.test(text) ? text : undefined;
  if (tag === IA5_STRING) return PLAIN.test(text) ? text : undefined;
  return tag === UTF8_STRING && !hasControls(text) ? text : undefined;
}

function utf8Of(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return true;
  }
  return false;
}
