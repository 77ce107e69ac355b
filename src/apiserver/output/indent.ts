// JSON made readable for people: for ?pretty=true, and for the programs that people read answers with.
// Guarantees: every value stays as it is written; a long answer is indented piece by piece, as it is read.
import type { ApiRequest, ApiResponse } from '../exchange.js';

/** Browsers and command-line tools, as Kubernetes tells them from clients. */
const READERS = ['curl', 'Wget', 'Mozilla/5.0'];
const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
/** What is indented at once. */
const SLICE = 64 * 1024;

export function wantsIndent({ headers, url }: Pick<ApiRequest, 'headers' | 'url'>): boolean {
  const at = url.indexOf('?');
  const asked =
    at === -1 || !url.includes('pretty=', at) ? '' : new URLSearchParams(url.slice(at)).get('pretty');
  if (asked !== null && asked !== '') return TRUE.has(asked);
  const agent = headers['user-agent'] ?? '';
  return READERS.some((reader) => agent.startsWith(reader));
}

/** The answer indented, when it is JSON that has an end. */
export function indented(response: ApiResponse): ApiResponse {
  const { headers, body, ends = false } = response;
  if (!(headers['content-type'] ?? '').startsWith('application/json')) return response;
  if (Buffer.isBuffer(body) && body.length <= SLICE) return { ...response, body: new Indenter().take(body) };
  if (!Buffer.isBuffer(body) && !ends) return response;
  const { 'content-length': _, ...rest } = headers;
  const pieces = Buffer.isBuffer(body) ? slices(body) : body;
  return { ...response, headers: rest, body: indentedPieces(pieces), ends: true };
}

async function* slices(body: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += SLICE) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    yield body.subarray(at, at + SLICE);
  }
}

async function* indentedPieces(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const indenter = new Indenter();
  for await (const piece of pieces) yield indenter.take(piece);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const isOpening = (byte: number) => byte === 0x7b || byte === 0x5b;
const isClosing = (byte: number) => byte === 0x7d || byte === 0x5d;
const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Reads JSON that is valid, in any pieces. */
export class Indenter {
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** An object or array was opened, and it is not known yet whether it is empty. */
  #isOpened = false;

  take(piece: Uint8Array): Buffer {
    const out: Buffer[] = [];
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at] as number;
      if (this.#isText) {
        this.#passText(byte);
        continue;
      }
      const before = isSpace(byte) ? undefined : this.#breakBefore(byte);
      const after = isSpace(byte) ? undefined : this.#breakAfter(byte);
      if (before === undefined && after === undefined && !isSpace(byte)) continue;
      out.push(Buffer.from(piece.buffer, piece.byteOffset + from, at - from));
      if (before !== undefined) out.push(before);
      if (!isSpace(byte)) out.push(Buffer.of(byte));
      if (after !== undefined) out.push(after);
      from = at + 1;
    }
    out.push(Buffer.from(piece.buffer, piece.byteOffset + from, piece.length - from));
    return Buffer.concat(out);
  }

  #passText(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isText = false;
  }

  #breakBefore(byte: number): Buffer | undefined {
    const isFirst = this.#isOpened;
    this.#isOpened = false;
    if (isClosing(byte)) {
      this.#depth -= 1;
      return isFirst ? undefined : lineBreak(this.#depth);
    }
    return isFirst ? lineBreak(this.#depth) : undefined;
  }

  #breakAfter(byte: number): Buffer | undefined {
    if (byte === QUOTE) this.#isText = true;
    if (byte === COMMA) return lineBreak(this.#depth);
    if (byte === COLON) return SPACE;
    if (isOpening(byte)) {
      this.#depth += 1;
      this.#isOpened = true;
    }
    return undefined;
  }
}

const SPACE = Buffer.from(' ');
const breaks: Buffer[] = [];

function lineBreak(depth: number): Buffer {
  breaks[depth] ??= Buffer.from(`\n${'  '.repeat(depth)}`);
  return breaks[depth] as Buffer;
}
