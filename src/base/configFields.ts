// Reads an untrusted configuration document field by field. Pure.
// Guarantees: whatever is wrong is refused with the path of the field; a field that nobody asked for is refused too, with
// the nearest of those that were. null says nothing, as everywhere in Kubernetes.
import { goDurationMs } from './goDuration.js';
import { didYouMean } from './nearestName.js';

/** The error of whoever reads; the document itself has the path ''. */
type Refuse = (path: string, why: string) => Error;

const INT32 = 2 ** 31;

export class ConfigFields {
  readonly #refuse: Refuse;
  readonly #above;

  readonly #raw: Readonly<Record<string, unknown>>;
  readonly #asked = new Set<string>();

  constructor(raw: unknown, refuse: Refuse, above = '') {
    this.#refuse = refuse;
    this.#above = above;

    if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
      throw refuse(above, 'must be an object');
    this.#raw = raw as Readonly<Record<string, unknown>>;
  }

  path(name: string): string {
    return this.#above === '' ? name : `${this.#above}.${name}`;
  }

  text(name: string): string | undefined {
    const value = this.any(name);
    if (value !== undefined && typeof value !== 'string') throw this.#wrong(name, 'must be text');
    return value;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const found = allowed.find((one) => one === value);
    if (found !== undefined) return found;
    const supported = allowed.map((one) => JSON.stringify(one)).join(', ');
    throw this.#wrong(name, `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported}`);
  }

  flag(name: string): boolean | undefined {
    const value = this.any(name);
    if (value !== undefined && typeof value !== 'boolean') throw this.#wrong(name, 'must be true or false');
    return value;
  }

  /** A whole number within these bounds. */
  number(name: string, least = -INT32, most = INT32 - 1): number | undefined {
    const value = this.any(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw this.#invalid(name, value, `must be a whole number from ${least} to ${most}`);
  }

  /** Milliseconds of a Go duration above zero. */
  duration(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const ms = goDurationMs(text);
    if (ms !== undefined && ms > 0) return ms;
    throw this.#invalid(name, text, 'must be a duration above zero');
  }

  texts(name: string): readonly string[] | undefined {
    return this.#list(name)?.map((value, at) => {
      if (typeof value === 'string') return value;
      throw this.#wrong(`${name}[${at}]`, 'must be text');
    });
  }

  part(name: string): ConfigFields | undefined {
    const value = this.any(name);
    return value === undefined ? undefined : new ConfigFields(value, this.#refuse, this.path(name));
  }

  /** An empty one where the document has none. */
  section(name: string): ConfigFields {
    return this.part(name) ?? new ConfigFields({}, this.#refuse, this.path(name));
  }

  parts(name: string): readonly ConfigFields[] | undefined {
    return this.#list(name)?.map(
      (value, at) => new ConfigFields(value, this.#refuse, `${this.path(name)}[${at}]`),
    );
  }

  /** As it is, for what has its own check. */
  any(name: string): unknown {
    this.#asked.add(name);
    return Object.hasOwn(this.#raw, name) ? (this.#raw[name] ?? undefined) : undefined;
  }

  /** Call when everything has been asked for. */
  end(): void {
    const unknown = Object.keys(this.#raw).find((name) => !this.#asked.has(name));
    if (unknown !== undefined) throw this.#wrong(unknown, `unknown field${didYouMean(unknown, this.#asked)}`);
  }

  #list(name: string): readonly unknown[] | undefined {
    const value = this.any(name);
    if (value !== undefined && !Array.isArray(value)) throw this.#wrong(name, 'must be a list');
    return value;
  }

  #invalid(name: string, value: unknown, why: string): Error {
    return this.#wrong(name, `Invalid value: ${JSON.stringify(value)}: ${why}`);
  }

  #wrong(name: string, why: string): Error {
    return this.#refuse(this.path(name), why);
  }
}
