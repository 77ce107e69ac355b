// Whether a schema is structural: every field is declared outside of allOf, anyOf, oneOf and not, which only restrict it. Pure.
// Guarantees: Kubernetes' rules and sentences; faults in order of their text, as Kubernetes sorts them.
import { type Cause, forbiddenField, invalidValue, required } from '../causes.js';
import { getOwn, sameJson } from '../ownKeys.js';
import { spendWork } from '../workLimit.js';
import { PatternError, requirePattern } from './pattern.js';
import { itemSchema, type JsonSchema, propertiesOf, subSchema } from './schema.js';

/** Of one schema, without those below it. */
const SCHEMA_WORK = 20;

type Level = 'root' | 'item' | 'field';

const EITHER = [{ type: 'integer' }, { type: 'string' }];
const EMPTY_TYPE: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

export function checkStructural(schema: JsonSchema, path: string): Cause[] {
  const causes = [...invariants(schema, 'root', path), ...incomplete(schema, schema, path, path)];
  const text = ({ field, message }: Cause) => `${field}: ${message}`;
  return causes.sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

function invariants(schema: JsonSchema, level: Level, path: string): Cause[] {
  spendWork(SCHEMA_WORK);
  const items = itemSchema(schema);
  const additional = subSchema(schema.additionalProperties);
  const hasAdditional = schema.additionalProperties !== undefined;
  const causes: Cause[] = [];
  if (schema.type === 'array' && schema.items === undefined)
    causes.push(required(`${path}.items`, 'must be specified'));
  if (items !== undefined) causes.push(...invariants(items, 'item', `${path}.items`));
  for (const [name, part] of propertiesOf(schema))
    causes.push(...invariants(part, 'field', `${path}.properties[${name}]`));
  if (hasAdditional && level === 'root')
    causes.push(forbiddenField(`${path}.additionalProperties`, 'must not be used at the root'));
  if (additional !== undefined)
    causes.push(...invariants(additional, 'field', `${path}.additionalProperties`));
  return [
    ...causes,
    ...extensionFaults(schema, path),
    ...valueFaults(schema, path, eitherPattern(schema)),
    ...typeFaults(schema, level, path),
    ...metaFaults(schema, level, path),
  ];
}

function extensionFaults(schema: JsonSchema, path: string): Cause[] {
  if (schema['x-kubernetes-int-or-string'] !== true) return [];
  return (['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
    .filter((name) => schema[name] === true)
    .map((name) =>
      invalidValue(`${path}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true'),
    );
}

/** The two ways in which int-or-string may name its types in junctors. */
function eitherPattern({ anyOf, allOf }: JsonSchema): 'anyOf' | 'allOf' | undefined {
  if (sameJson(anyOf, EITHER)) return 'anyOf';
  return sameJson(allOf?.[0]?.anyOf, EITHER) ? 'allOf' : undefined;
}

function typeFaults(schema: JsonSchema, level: Level, path: string): Cause[] {
  const { type = '' } = schema;
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const keepsUnknown = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const causes: Cause[] = [];
  if (isEmbedded && type !== 'object') {
    const why = 'must be object if x-kubernetes-embedded-resource is true';
    causes.push(type === '' ? required(`${path}.type`, why) : invalidValue(`${path}.type`, type, why));
  } else if (type === '' && schema['x-kubernetes-int-or-string'] !== true && !keepsUnknown)
    causes.push(required(`${path}.type`, EMPTY_TYPE[level]));
  if (isEmbedded && schema.additionalProperties !== undefined)
    causes.push(
      forbiddenField(
        `${path}.additionalProperties`,
        'must not be used if x-kubernetes-embedded-resource is set',
      ),
    );
  if (level === 'root' && type !== '' && type !== 'object')
    causes.push(invalidValue(`${path}.type`, type, 'must be object at the root'));
  if (isEmbedded && !keepsUnknown && propertiesOf(schema).length === 0)
    causes.push(
      required(
        `${path}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    );
  return causes;
}

function metaFaults(schema: JsonSchema, level: Level, path: string): Cause[] {
  const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true;
  const causes: Cause[] = [];
  for (const name of ['kind', 'apiVersion']) {
    const part = getOwn(schema.properties, name);
    if (isResource && part !== undefined && part.type !== 'string')
      causes.push(invalidValue(`${path}.properties[${name}].type`, part.type ?? '', 'must be string'));
  }
  const metadata = getOwn(schema.properties, 'metadata');
  if (metadata === undefined) return causes;
  const field = `${path}.properties[metadata]`;
  if (isResource && metadata.type !== 'object')
    causes.push(invalidValue(`${field}.type`, metadata.type ?? '', 'must be object'));
  if (level === 'root' && !isPlainMetadata(metadata))
    causes.push(
      forbiddenField(
        field,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
  return causes;
}

function isPlainMetadata({ properties, type: _, default: __, ...rest }: JsonSchema): boolean {
  const names = Object.keys(properties ?? {});
  const others = Object.keys(rest).filter((name) => name !== 'description');
  return names.every((name) => name === 'name' || name === 'generateName') && others.length === 0;
}

function valueFaults(schema: JsonSchema, path: string, skipped: 'anyOf' | 'allOf' | undefined): Cause[] {
  const causes: Cause[] = [];
  for (const junctor of ['anyOf', 'allOf', 'oneOf'] as const) {
    if (junctor === 'anyOf' && skipped === 'anyOf') continue;
    for (const [index, part] of (schema[junctor] ?? []).entries()) {
      const isTypes = junctor === 'allOf' && index === 0 && skipped === 'allOf';
      causes.push(...nestedFaults(part, `${path}.${junctor}[${index}]`, isTypes ? 'anyOf' : undefined));
    }
  }
  if (schema.not !== undefined) causes.push(...nestedFaults(schema.not, `${path}.not`, undefined));
  const { pattern = '' } = schema;
  if (pattern === '') return causes;
  try {
    requirePattern(pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const why = `must be a valid regular expression, but isn't: ${error.message}`;
    causes.push(invalidValue(`${path}.pattern`, pattern, why));
  }
  return causes;
}

const FORBIDDEN: readonly (readonly [keyof JsonSchema, string])[] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

const isSet = (value: unknown) => value !== undefined && value !== '' && value !== false;

function nestedFaults(schema: JsonSchema, path: string, skipped: 'anyOf' | undefined): Cause[] {
  spendWork(SCHEMA_WORK);
  const items = itemSchema(schema);
  const causes = valueFaults(schema, path, skipped);
  if (items !== undefined) causes.push(...nestedFaults(items, `${path}.items`, undefined));
  for (const [name, part] of propertiesOf(schema))
    causes.push(...nestedFaults(part, `${path}.properties[${name}]`, undefined));
  for (const [name, why] of FORBIDDEN)
    if (isSet(schema[name])) causes.push(forbiddenField(`${path}.${name}`, why));
  if (getOwn(schema.properties, 'metadata') !== undefined)
    causes.push(forbiddenField(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
  return causes;
}

/** What a junctor of `nested` speaks of and `schema` does not have. */
function incomplete(nested: JsonSchema, schema: JsonSchema, path: string, nestedPath: string): Cause[] {
  spendWork(SCHEMA_WORK);
  const causes: Cause[] = [];
  const visit = (part: JsonSchema, at: string) => {
    causes.push(...incompletePart(part, schema, path, at));
  };
  if (nested.not !== undefined) visit(nested.not, `${nestedPath}.not`);
  for (const junctor of ['allOf', 'anyOf', 'oneOf'] as const)
    for (const [index, part] of (nested[junctor] ?? []).entries())
      visit(part, `${nestedPath}.${junctor}[${index}]`);
  return causes;
}

/** As above, with what stands below: of a part that is itself inside a junctor. */
function incompletePart(
  nested: JsonSchema,
  schema: JsonSchema | undefined,
  path: string,
  nestedPath: string,
): Cause[] {
  if (schema === undefined) return [required(path, `because it is defined in ${nestedPath}`)];
  const causes = incomplete(nested, schema, path, nestedPath);
  const items = itemSchema(nested);
  if (items !== undefined)
    causes.push(...incompletePart(items, itemSchema(schema), `${path}.items`, `${nestedPath}.items`));
  for (const [name, below] of propertiesOf(nested)) {
    const step = `.properties[${name}]`;
    causes.push(...incompletePart(below, getOwn(schema.properties, name), path + step, nestedPath + step));
  }
  return causes;
}
