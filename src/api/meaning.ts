// Whether two values of a schema mean the same to Kubernetes' own types. Pure.
// Guarantees: absence equals the empty value only where Go keeps the field by value; behind a pointer, as a value of a
// map and as an item of a list every value counts.
import { schemas } from './gen/schemas.js';
import { getOwn, isMembers, type Members, sameJson } from './ownKeys.js';
import { isPointer } from './zeroValues.js';

/** `code` is that of a field in the schemas: a model such as V1PodSpec, `[]V1Container`, `{}s`, `s`. */
export function sameMeaning(code: string, left: unknown, right: unknown): boolean {
  // Most are the same to the letter, which needs no look into the schemas.
  return sameJson(left, right) || sameInGo(code, left, right);
}

function sameInGo(code: string, left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (isVoid(code, left) || isVoid(code, right)) return isVoid(code, left) && isVoid(code, right);
  if (code.startsWith('[]')) return sameItems(code.slice(2), left, right);
  if (code.startsWith('{}')) return sameValues(code.slice(2), left, right);
  const schema = getOwn(schemas, code);
  if (schema === undefined || !isMembers(left) || !isMembers(right)) return sameJson(left, right);
  return namesIn(left, right).every((name) =>
    sameFieldInGo(code, name, getOwn(left, name), getOwn(right, name)),
  );
}

/** Of the field `name` of a model: behind a pointer its absence is a value of its own. */
export function sameField(model: string, name: string, left: unknown, right: unknown): boolean {
  return sameJson(left, right) || sameFieldInGo(model, name, left, right);
}

function sameFieldInGo(model: string, name: string, left: unknown, right: unknown): boolean {
  const code = getOwn(getOwn(schemas, model), name)?.replace(/^!/, '');
  if (code === undefined) return sameJson(left, right);
  if (isPointer(model, name) && isAbsent(left) !== isAbsent(right)) return false;
  return sameInGo(code, left, right);
}

function sameItems(code: string, left: unknown, right: unknown): boolean {
  if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
  return left.every((item, index) => sameInGo(code, item, right[index]));
}

/** A key counts, whatever it holds. */
function sameValues(code: string, left: unknown, right: unknown): boolean {
  if (!isMembers(left) || !isMembers(right)) return false;
  return namesIn(left, right).every(
    (name) =>
      isAbsent(getOwn(left, name)) === isAbsent(getOwn(right, name)) &&
      sameInGo(code, getOwn(left, name), getOwn(right, name)),
  );
}

/** Absent, or what Go has for an absent value that is no pointer. */
function isVoid(code: string, value: unknown): boolean {
  if (isAbsent(value) || value === '' || value === false || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  if (!isMembers(value)) return false;
  const names = Object.keys(value).filter((name) => !isAbsent(value[name]));
  const schema = getOwn(schemas, code);
  if (schema === undefined) return names.length === 0;
  return names.every((name) => {
    const field = getOwn(schema, name)?.replace(/^!/, '');
    return field !== undefined && !isPointer(code, name) && isVoid(field, value[name]);
  });
}

const isAbsent = (value: unknown) => value === undefined || value === null;

const namesIn = (left: Members, right: Members): string[] => [
  ...new Set([...Object.keys(left), ...Object.keys(right)]),
];
