// Validation errors as Status causes, with Kubernetes' messages. Pure.
// Guarantees: each sentence is what the stock apiserver says for that kind of fault; the field path is the caller's;
// within firstCauses a check ends with its MAX_CAUSES-th fault or some megabytes of sentences, however much was left.
import type { V1StatusCause } from './gen/types.js';
import { sameField } from './meaning.js';
import type { NameCheck } from './names.js';

export type Cause = V1StatusCause;
export type Causes = readonly Cause[];

/** Nobody reads on beyond these, and a hostile object could have a million. */
export const MAX_CAUSES = 1000;

/** Of all sentences together: a sentence may show a value of megabytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Ends a check from wherever it stands. */
class Enough extends Error {}
const enough = new Enough();

/** Of the check that runs now: checks are synchronous, so there is one at a time. */
let found: Cause[] | undefined;
let foundBytes = 0;

/** What a check finds, as far as anybody wants to know. */
export function firstCauses(check: () => Causes): Causes {
  const causes: Cause[] = [];
  found = causes;
  foundBytes = 0;
  try {
    return check();
  } catch (error) {
    if (error !== enough) throw error;
    return causes;
  } finally {
    found = undefined;
  }
}

function cause(reason: string, field: string, message: string): Cause {
  const made = { reason, message, field };
  if (found === undefined) return made;
  foundBytes += message.length;
  if (found.push(made) >= MAX_CAUSES || foundBytes > MAX_BYTES) throw enough;
  return made;
}

/** A value as Go's messages show it: text quoted, the rest as JSON. */
const show = (value: unknown): string => JSON.stringify(value) ?? 'null';

export function required(field: string, why?: string): Cause {
  const message = why === undefined ? 'Required value' : `Required value: ${why}`;
  return cause('FieldValueRequired', field, message);
}

export function invalidValue(field: string, value: unknown, why: string): Cause {
  return cause('FieldValueInvalid', field, `Invalid value: ${show(value)}: ${why}`);
}

export function invalidType(field: string, value: unknown, why: string): Cause {
  return cause('FieldValueTypeInvalid', field, `Invalid value: ${show(value)}: ${why}`);
}

/** A whole that is wrong, and too large to be shown. */
export function invalidWhole(field: string, why: string): Cause {
  return cause('FieldValueInvalid', field, `Invalid value: ${why}`);
}

/** Built-in kinds name what they support in the order of the alphabet. */
export const notSupported = (field: string, value: unknown, supported: readonly string[]): Cause =>
  notInEnum(field, value, [...supported].sort());

/** Schemas name it in their own order. */
export function notInEnum(field: string, value: unknown, supported: readonly string[]): Cause {
  const list = supported.map(show).join(', ');
  const message = `Unsupported value: ${show(value)}: supported values: ${list}`;
  return cause('FieldValueNotSupported', field, message);
}

export function duplicate(field: string, value: unknown): Cause {
  return cause('FieldValueDuplicate', field, `Duplicate value: ${show(value)}`);
}

export function notFoundValue(field: string, value: unknown): Cause {
  return cause('FieldValueNotFound', field, `Not found: ${show(value)}`);
}

export function forbiddenField(field: string, why: string): Cause {
  return cause('FieldValueForbidden', field, `Forbidden: ${why}`);
}

export function tooLong(field: string, bytes: number): Cause {
  return cause('FieldValueTooLong', field, `Too long: may not be more than ${bytes} bytes`);
}

/** Each sentence of a name check as a cause of that field. */
export function checkName(field: string, value: string, check: NameCheck): Cause[] {
  const faults = check(value);
  return faults.length === 0 ? [] : faults.map((why) => invalidValue(field, value, why));
}

/** As checkName, with "Required value" for an absent or empty name. */
export function checkRequiredName(field: string, value: string | undefined, check: NameCheck): Cause[] {
  return value === undefined || value === '' ? [required(field)] : checkName(field, value, check);
}

/** Absent is fine; present must be one of the list. */
export function checkOneOf(field: string, value: string | undefined, supported: readonly string[]): Cause[] {
  return value === undefined || supported.includes(value) ? [] : [notSupported(field, value, supported)];
}

export function checkNotNegative(field: string, value: number | undefined): Cause[] {
  return value === undefined || value >= 0
    ? []
    : [invalidValue(field, value, 'must be greater than or equal to 0')];
}

export function tooMany(field: string, count: number, most: number): Cause {
  const items = most === 1 ? 'item' : 'items';
  return cause('FieldValueTooMany', field, `Too many: ${count}: must have at most ${most} ${items}`);
}

export const IMMUTABLE = 'field is immutable';

/** Of an update: the field is as it was. `of` names it in the schemas: `V1JobSpec.selector`. */
export function checkImmutable(field: string, of: string, value: unknown, old: unknown): Cause[] {
  const [model = '', name = ''] = of.split('.');
  return sameField(model, name, value, old) ? [] : [invalidValue(field, value ?? null, IMMUTABLE)];
}
