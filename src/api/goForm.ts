// Values as Go's JSON encoder writes those of Kubernetes' own types, for whoever compares or hashes the bytes. Pure.
// Guarantees: keys in order, quantities in their canonical form; what Go keeps by value is there, what it omits is not.
import { isQuantity, QUANTITY_MAPS } from './formats.js';
import { schemas } from './gen/schemas.js';
import { getOwn, isMembers, type Members, setOwn } from './ownKeys.js';
import { canonicalQuantity } from './quantity.js';
import { isPointer, keepsEmpty } from './zeroValues.js';

/** `code` is that of a field in the schemas: a model such as V1PodSpec, `[]V1Container`, `{}s`, `s`. */
export function goForm(code: string, value: unknown): unknown {
  if (code.startsWith('[]'))
    return Array.isArray(value) ? value.map((item) => goForm(code.slice(2), item)) : value;
  if (code.startsWith('{}'))
    return isMembers(value) ? sorted(value, (member) => goForm(code.slice(2), member)) : value;
  const schema = getOwn(schemas, code);
  if (schema !== undefined && isMembers(value)) return modelForm(code, schema, value);
  return isMembers(value) ? sorted(value, (member) => goForm('any', member)) : value;
}

/** Marks that Go's encoder writes as escapes, so that a page cannot take them for its own. */
export const goText = (value: unknown, indent = 0): string =>
  JSON.stringify(value, null, indent).replace(
    /[<>&\u2028\u2029]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function modelForm(model: string, schema: Readonly<Record<string, string>>, value: Members): Members {
  const form: Members = {};
  // Fields that the schema does not know come from a newer server; they stay.
  for (const name of [...new Set([...Object.keys(schema), ...Object.keys(value)])].sort(byText)) {
    const written = fieldForm(model, name, getOwn(value, name));
    if (written !== undefined) setOwn(form, name, written);
  }
  return form;
}

function fieldForm(model: string, name: string, value: unknown): unknown {
  const code = getOwn(getOwn(schemas, model), name);
  if (code === undefined) return goForm('any', value);
  const bare = code.replace(/^!/, '');
  if (value === undefined || value === null)
    return isPointer(model, name) ? undefined : absentForm(model, name, code);
  if (isQuantity(model, name)) return canonicalQuantity(value as string);
  if (QUANTITY_MAPS.has(`${model}.${name}`) && isMembers(value) && Object.keys(value).length > 0)
    return sorted(value, (amount) => canonicalQuantity(amount as string));
  if (isEmpty(value) && isOmittable(bare) && !keepsEmpty(model, name, code)) return undefined;
  return goForm(bare, value);
}

/** What stands for a field that Go keeps by value and nobody has set. */
function absentForm(model: string, name: string, code: string): unknown {
  const bare = code.replace(/^!/, '');
  if (getOwn(schemas, bare) !== undefined) return goForm(bare, {});
  if (isQuantity(model, name)) return '0';
  if (!keepsEmpty(model, name, code)) return undefined;
  if (/^(\[\]|\{\})/.test(bare)) return null;
  return { s: '', b: false, i: 0, n: 0, x: 0 }[bare] ?? null;
}

const isOmittable = (code: string) => /^([sibny]$|\[\]|\{\})/.test(code);

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === '' || value === false || value === 0;
  return Object.keys(value).length === 0;
}

function sorted(members: Members, form: (member: unknown) => unknown): Members {
  const result: Members = {};
  for (const key of Object.keys(members).sort(byText))
    if (members[key] !== undefined) setOwn(result, key, form(members[key]));
  return result;
}

const byText = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);
