// Messages of the D-Bus wire protocol, as far as a client needs them that calls methods and hears signals. Pure.
// Guarantees: what encode writes decode reads; a body of types that nobody here reads is left out, never misread.

/** By the numbers of the protocol. */
export const CALL = 1;
export const REPLY = 2;
export const ERROR = 3;
export const SIGNAL = 4;

export interface BusMessage {
  readonly type: number;
  readonly serial: number;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  /** Of the call that this answers. */
  readonly replySerial?: number;
  readonly destination?: string;
  readonly sender?: string;
  /** One letter an argument. */
  readonly signature?: string;
  /** A variant is written as its type and its value, and read as its value. */
  readonly body?: readonly unknown[];
}

/** Number, name here and type of each header field. */
const FIELDS = [
  [1, 'path', 'o'],
  [2, 'interface', 's'],
  [3, 'member', 's'],
  [4, 'errorName', 's'],
  [5, 'replySerial', 'u'],
  [6, 'destination', 's'],
  [7, 'sender', 's'],
  [8, 'signature', 'g'],
] as const;
/** What each type is aligned to. */
const ALIGN: Readonly<Record<string, number>> = {
  y: 1,
  g: 1,
  v: 1,
  b: 4,
  i: 4,
  u: 4,
  h: 4,
  s: 4,
  o: 4,
  x: 8,
  t: 8,
};
const FIXED = 16;
const LITTLE = 'l'.charCodeAt(0);
/** As the specification has it. */
const MAX_MESSAGE = 128 * 1024 * 1024;

export function encode(message: BusMessage): Buffer {
  const { type, serial, signature = '', body = [] } = message;
  const args = new Writer();
  for (const [index, letter] of [...signature].entries()) args.put(letter, body[index]);
  const fields = new Writer();
  for (const [number, name, letter] of FIELDS) {
    const value = message[name];
    if (value === undefined || value === '') continue;
    fields.align(8);
    fields.put('y', number);
    fields.put('g', letter);
    fields.put(letter, value);
  }
  const head = new Writer();
  for (const byte of [LITTLE, type, 0, 1]) head.put('y', byte);
  for (const word of [args.length, serial, fields.length]) head.put('u', word);
  const padding = Buffer.alloc((8 - (fields.length % 8)) % 8);
  return Buffer.concat([head.bytes(), fields.bytes(), padding, args.bytes()]);
}

/** The message at the beginning of `bytes` and how long it is; undefined while it is not whole. */
export function decode(bytes: Buffer): { readonly message: BusMessage; readonly length: number } | undefined {
  if (bytes.length < FIXED) return undefined;
  const little = bytes[0] === LITTLE;
  const word = (at: number) => (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const [bodyLength, serial, fieldsLength] = [word(4), word(8), word(12)];
  const bodyAt = FIXED + Math.ceil(fieldsLength / 8) * 8;
  const length = bodyAt + bodyLength;
  if (length > MAX_MESSAGE) throw new Error(`a message of ${length} bytes is too large`);
  if (bytes.length < length) return undefined;
  const found: Record<string, unknown> = {};
  const fields = new Reader(bytes, FIXED, little);
  while (fields.at < FIXED + fieldsLength) {
    fields.align(8);
    const number = fields.take('y');
    const value = fields.take('v');
    const [, name] = FIELDS.find(([known]) => known === number) ?? [];
    if (name !== undefined) found[name] = value;
  }
  const signature = String(found['signature'] ?? '');
  const isKnown = [...signature].every((letter) => letter in ALIGN);
  const args = new Reader(bytes, bodyAt, little);
  const body = isKnown ? [...signature].map((letter) => args.take(letter)) : [];
  return { message: { ...found, type: bytes[1] ?? 0, serial, signature, body }, length };
}

class Writer {
  readonly #pieces: Buffer[] = [];
  length = 0;

  align(to: number): void {
    this.#add(Buffer.alloc((to - (this.length % to)) % to));
  }

  put(type: string, value: unknown): void {
    this.align(ALIGN[type] ?? 1);
    if (type === 'y') this.#add(Buffer.from([Number(value)]));
    else if (type === 'g') this.#add(Buffer.from([String(value).length, ...Buffer.from(`${value}\0`)]));
    else if (type === 's' || type === 'o') {
      const text = Buffer.from(`${value}\0`);
      this.#word(text.length - 1);
      this.#add(text);
    } else if (type === 'i') this.#word(Number(value) >>> 0);
    else if (type === 'u' || type === 'b') this.#word(Number(value));
    else if (type === 't') {
      const wide = Buffer.alloc(8);
      wide.writeBigUInt64LE(BigInt(value as bigint));
      this.#add(wide);
    } else if (type === 'v') {
      const [inner, held] = value as readonly [string, unknown];
      this.put('g', inner);
      this.put(inner, held);
    } else throw new TypeError(`nobody here writes the type ${type}`);
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  #word(value: number): void {
    const four = Buffer.alloc(4);
    four.writeUInt32LE(value);
    this.#add(four);
  }

  #add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.length += piece.length;
  }
}

class Reader {
  readonly #bytes: Buffer;
  readonly #little: boolean;

  constructor(
    bytes: Buffer,
    public at: number,
    little: boolean,
  ) {
    this.#bytes = bytes;
    this.#little = little;
  }

  /** The body and the header both begin at a multiple of eight, so that the offset in the message serves. */
  align(to: number): void {
    this.at = Math.ceil(this.at / to) * to;
  }

  take(type: string): unknown {
    this.align(ALIGN[type] ?? 1);
    if (type === 'y') return this.#bytes[this.at++];
    if (type === 'g') return this.#text(Number(this.take('y')));
    if (type === 's' || type === 'o') return this.#text(this.#word());
    if (type === 'b') return this.#word() !== 0;
    if (type === 'i') return this.#word() | 0;
    if (type === 'u' || type === 'h') return this.#word();
    if (type === 't' || type === 'x') {
      const wide = this.#little ? this.#bytes.readBigUInt64LE(this.at) : this.#bytes.readBigUInt64BE(this.at);
      this.at += 8;
      return type === 't' ? wide : BigInt.asIntN(64, wide);
    }
    if (type === 'v') {
      const inner = String(this.take('g'));
      if (!(inner in ALIGN)) throw new Error(`a value of the type ${inner} cannot be read here`);
      return this.take(inner);
    }
    throw new TypeError(`nobody here reads the type ${type}`);
  }

  #word(): number {
    const value = this.#little ? this.#bytes.readUInt32LE(this.at) : this.#bytes.readUInt32BE(this.at);
    this.at += 4;
    return value;
  }

  #text(length: number): string {
    const text = this.#bytes.toString('utf8', this.at, this.at + length);
    this.at += length + 1;
    return text;
  }
}
