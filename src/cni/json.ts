// JSON text with the place of whatever is wrong with it. Pure.
// Guarantees: the value is what JSON.parse gives; a place is a line and a column, both counted from 1.

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** The way to a field: keys and indexes. */
export type JsonPath = readonly (string | number)[];

interface Place {
  readonly line: number;
  readonly column: number;
}

export class JsonSyntaxError extends Error {
  constructor(
    message: string,
    readonly place: Place,
  ) {
    super(message);
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of a text, or a JsonSyntaxError that says where it stops making sense. */
export function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    // V8 tells the place in words that change from one version to the next, so we look for it ourselves.
    const scanner = new Scanner(text);
    scanner.scan();
    const { message, offset } = scanner.failure ?? { message: String(error), offset: 0 };
    throw new JsonSyntaxError(message, placeAt(text, offset));
  }
}

/** Where the field's value begins; for a field that is not there, where its nearest parent begins. */
export function placeOf(text: string, path: JsonPath): Place {
  const scanner = new Scanner(text, path);
  scanner.scan();
  return placeAt(text, scanner.found);
}

/** `plugins[0].ipam.type` */
export const pathText = (path: JsonPath): string =>
  path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join('');

/** One text for equal values, whatever the order of their keys. */
export const canonical = (value: JsonValue): string =>
  JSON.stringify(value, (_, part: JsonValue) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );

function placeAt(text: string, offset: number): Place {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** Far beyond any configuration, and well within the stack. */
const MAX_DEPTH = 1000;

// A text in quotes up to its end: no control characters, no bare quote, only escapes that JSON knows.
const OPEN_STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*/y;

class Stop extends Error {}

/** Walks a text without building anything; notes the first mistake and the nearest place to a path. */
class Scanner {
  readonly #text: string;
  readonly #wanted: JsonPath;

  failure: { message: string; offset: number } | undefined;
  found = 0;
  #at = 0;
  #matched = 0;

  constructor(text: string, wanted: JsonPath = []) {
    this.#text = text;
    this.#wanted = wanted;
  }

  scan(): void {
    try {
      this.#value(0, true);
      this.#space();
      if (this.#at < this.#text.length) this.#fail('something follows the end of the value');
    } catch (error) {
      if (!(error instanceof Stop)) throw error;
    }
  }

  #value(depth: number, onPath: boolean): void {
    this.#space();
    if (onPath && depth >= this.#matched) {
      this.#matched = depth;
      this.found = this.#at;
    }
    if (depth > MAX_DEPTH) this.#fail('nested too deeply');
    const next = this.#text[this.#at];
    if (next === undefined) this.#fail('the text ends too early');
    else if (next === '{') this.#object(depth, onPath);
    else if (next === '[') this.#array(depth, onPath);
    else if (next === '"') this.#string();
    else if (!this.#take(/true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y))
      this.#fail(`expected a value, found ${shown(next)}`);
  }

  #object(depth: number, onPath: boolean): void {
    this.#at += 1;
    if (this.#skip('}')) return;
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"')
        this.#expected(this.#text[this.#at] === '}' ? 'no comma before }' : 'a key in quotes');
      const key = this.#string();
      if (!this.#skip(':')) this.#expected('":" after the key');
      this.#value(depth + 1, onPath && this.#wanted[depth] === key);
      if (this.#skip('}')) return;
      if (!this.#skip(',')) this.#expected('"," or "}"');
    }
  }

  #array(depth: number, onPath: boolean): void {
    this.#at += 1;
    if (this.#skip(']')) return;
    for (let index = 0; ; index++) {
      this.#value(depth + 1, onPath && this.#wanted[depth] === index);
      if (this.#skip(']')) return;
      if (!this.#skip(',')) this.#expected('"," or "]"');
    }
  }

  #string(): string {
    const start = this.#at;
    if (!this.#take(OPEN_STRING) || this.#text[this.#at] !== '"') {
      const found = this.#text[this.#at];
      this.#fail(
        found === '\\' ? 'an unknown escape in the text' : 'the text in quotes is not closed on its line',
      );
    }
    this.#at += 1;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #space(): void {
    this.#take(/[ \t\r\n]*/y);
  }

  #skip(character: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #expected(what: string): never {
    const next = this.#text[this.#at];
    this.#fail(`expected ${what}, found ${next === undefined ? 'the end' : shown(next)}`);
  }

  #fail(message: string): never {
    this.failure = { message, offset: this.#at };
    throw new Stop();
  }
}

const shown = (character: string): string =>
  character === '\ufeff' ? 'a byte order mark' : JSON.stringify(character);
