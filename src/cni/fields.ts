// Reads typed fields out of a configuration, and says where a wrong one is. Pure.
// Guarantees: every refusal names the source, the line and column, and the field's path.
import { CniError } from './error.js';
import {
  isObject,
  type JsonObject,
  type JsonPath,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
  pathText,
  placeOf,
} from './json.js';

/** A text and where it is from, such as a file's path. */
export interface Source {
  readonly name: string;
  readonly text: string;
}

export function refuse(source: Source, path: JsonPath, why: string): CniError {
  const { line, column } = placeOf(source.text, path);
  const field = path.length === 0 ? '' : `${pathText(path)}: `;
  return new CniError('CONFIG_INVALID', `${source.name}: line ${line}, column ${column}: ${field}${why}`);
}

/** The object that the text is. */
export function readObject(source: Source): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(source.text);
  } catch (cause) {
    if (!(cause instanceof JsonSyntaxError)) throw cause;
    const { line, column } = cause.place;
    const message = `${source.name}: line ${line}, column ${column}: not JSON: ${cause.message}`;
    throw new CniError('CONFIG_INVALID', message, { cause });
  }
  if (!isObject(value)) throw refuse(source, [], `must be an object, is ${kindOf(value)}`);
  return value;
}

/** A view of one object in the text. */
export class Fields {
  constructor(
    readonly source: Source,
    readonly path: JsonPath,
    readonly object: JsonObject,
  ) {}

  has(key: string): boolean {
    return Object.hasOwn(this.object, key);
  }

  refuse(key: string, why: string): CniError {
    return refuse(this.source, [...this.path, key], why);
  }

  text(key: string): string | undefined {
    const value = this.#get(key);
    if (value === undefined || typeof value === 'string') return value;
    throw this.#wrong(key, 'a text', value);
  }

  requiredText(key: string, hint = ''): string {
    const value = this.text(key);
    if (value === undefined) throw this.refuse(key, `is missing${hint}`);
    if (value === '') throw this.refuse(key, 'is empty');
    return value;
  }

  texts(key: string): string[] | undefined {
    const value = this.#get(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.#wrong(key, 'a list of texts', value);
    return value.map((item, i) => {
      if (typeof item === 'string') return item;
      throw refuse(this.source, [...this.path, key, i], `must be a text, is ${kindOf(item)}`);
    });
  }

  /** True and false; also as texts, which libcni accepts. */
  flag(key: string): boolean {
    const value = this.#get(key);
    if (value === undefined || value === false) return false;
    if (value === true) return true;
    if (typeof value !== 'string') throw this.#wrong(key, 'true or false', value);
    const word = value.toLowerCase();
    if (word !== 'true' && word !== 'false')
      throw this.refuse(key, `must be true or false, is ${JSON.stringify(value)}`);
    return word === 'true';
  }

  child(key: string): Fields | undefined {
    const value = this.#get(key);
    if (value === undefined) return undefined;
    if (!isObject(value)) throw this.#wrong(key, 'an object', value);
    return new Fields(this.source, [...this.path, key], value);
  }

  children(key: string): Fields[] | undefined {
    const value = this.#get(key);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.#wrong(key, 'a list of objects', value);
    return value.map((item, i) => {
      const path = [...this.path, key, i];
      if (!isObject(item)) throw refuse(this.source, path, `must be an object, is ${kindOf(item)}`);
      return new Fields(this.source, path, item);
    });
  }

  #get(key: string): JsonValue | undefined {
    return this.has(key) ? this.object[key] : undefined;
  }

  #wrong(key: string, wanted: string, value: JsonValue): CniError {
    return this.refuse(key, `must be ${wanted}, is ${kindOf(value)}`);
  }
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return { string: 'a text', number: 'a number', boolean: 'true or false' }[
    typeof value as 'string' | 'number' | 'boolean'
  ];
}
