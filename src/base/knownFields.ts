// The known fields of a configuration document: those that are read, and those with only one supported behaviour. Pure.
// Guarantees: an unknown field is refused with the nearest known one, and so is a value that asks for another behaviour.
// Nothing in a document is ignored.
import { didYouMean } from './nearestName.js';

export interface KnownFields {
  /** Paths such as `logging.format`. */
  readonly read: ReadonlySet<string>;
  /** By their paths, with the values that say what is done anyway. */
  readonly fixed: Readonly<Record<string, readonly unknown[]>>;
  isSame(left: unknown, right: unknown): boolean;
  refuse(path: string, why: string): Error;
  /** `meant` is empty, or says which field was likely meant. */
  unknown(path: string, meant: string): Error;
}

/** The fields that are read and say something, by their paths. null says "the default", as everywhere in Kubernetes. */
export function* knownFields(
  document: object,
  known: KnownFields,
  above = '',
): Generator<readonly [path: string, value: unknown]> {
  for (const [name, given] of Object.entries(document)) {
    const path = `${above}${name}`;
    const only = Object.hasOwn(known.fixed, path) ? known.fixed[path] : undefined;
    if (known.read.has(path)) {
      if (given !== null) yield [path, given];
    } else if (isAbove(path, known)) {
      if (given === null || says(only, given, known)) continue;
      if (typeof given !== 'object' || Array.isArray(given)) throw known.refuse(path, 'is not an object');
      yield* knownFields(given, known, `${path}.`);
    } else if (only === undefined)
      throw known.unknown(path, didYouMean(path, [...known.read, ...Object.keys(known.fixed)]));
    else if (given !== null && !says(only, given, known)) {
      const ways = only.map((one) => JSON.stringify(one)).join(' or ');
      throw known.refuse(path, `${JSON.stringify(given)} is not supported; leave it out, or say ${ways}`);
    }
  }
}

const says = (only: readonly unknown[] | undefined, given: unknown, { isSame }: KnownFields): boolean =>
  only?.some((value) => isSame(value, given)) === true;

const isAbove = (path: string, { read, fixed }: KnownFields): boolean =>
  [...read, ...Object.keys(fixed)].some((one) => one.startsWith(`${path}.`));
