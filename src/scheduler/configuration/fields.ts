// Reads untrusted configuration field by field.
// Guarantees: whatever is wrong is refused with the path of the field; a field that nobody asked for is refused too.
import { SchedulerError } from '../error.js';

type Raw = Readonly<Record<string, unknown>>;

export class Fields {
  readonly #raw: Raw;
  readonly #path: string;
  readonly #asked = new Set<string>();

  constructor(raw: unknown, path: string) {
    if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw wrong(path, 'must be a mapping');
    this.#raw = raw as Raw;
    this.#path = path;
  }

  path(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }

  text(name: string): string | undefined {
    const value = this.#ask(name);
    if (value !== undefined && typeof value !== 'string') throw wrong(this.path(name), 'must be text');
    return value;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = allowed.find((one) => one === value);
    if (found !== undefined) return found;
    const supported = allowed.map((one) => JSON.stringify(one)).join(', ');
    throw wrong(
      this.path(name),
      `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`,
    );
  }

  flag(name: string): boolean | undefined {
    const value = this.#ask(name);
    if (value !== undefined && typeof value !== 'boolean')
      throw wrong(this.path(name), 'must be true or false');
    return value;
  }

  /** A whole number within these bounds. */
  number(name: string, least: number, most: number): number | undefined {
    const value = this.#ask(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw wrong(
      this.path(name),
      `Invalid value: ${JSON.stringify(value)}: must be a whole number from ${least} to ${most}`,
    );
  }

  texts(name: string): readonly string[] | undefined {
    return this.#list(name)?.map((value, at) => {
      if (typeof value === 'string') return value;
      throw wrong(`${this.path(name)}[${at}]`, 'must be text');
    });
  }

  part(name: string): Fields | undefined {
    const value = this.#ask(name);
    return value === undefined ? undefined : new Fields(value, this.path(name));
  }

  parts(name: string): readonly Fields[] | undefined {
    return this.#list(name)?.map((value, at) => new Fields(value, `${this.path(name)}[${at}]`));
  }

  /** As it is, for what has its own check. */
  any(name: string): unknown {
    return this.#ask(name);
  }

  /** Call when everything has been asked for. */
  end(): void {
    const unknown = Object.keys(this.#raw).find((name) => !this.#asked.has(name));
    if (unknown !== undefined) throw wrong(this.path(unknown), 'unknown field');
  }

  #list(name: string): readonly unknown[] | undefined {
    const value = this.#ask(name);
    if (value !== undefined && !Array.isArray(value)) throw wrong(this.path(name), 'must be a list');
    return value;
  }

  #ask(name: string): unknown {
    this.#asked.add(name);
    return Object.hasOwn(this.#raw, name) ? (this.#raw[name] ?? undefined) : undefined;
  }
}

export function wrong(path: string, what: string): SchedulerError {
  return new SchedulerError('CONFIG', `${path === '' ? 'the configuration' : path}: ${what}`);
}
