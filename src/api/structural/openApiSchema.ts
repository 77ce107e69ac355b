// What an OpenAPI schema of a definition may hold, besides being structural. Pure.
// Guarantees: Kubernetes' rules and sentences; rules in an expression language are refused while nobody can run them.
import { type Cause, forbiddenField, invalidValue, notSupported, required } from '../causes.js';
import { getOwn } from '../ownKeys.js';
import { spendWork } from '../workLimit.js';
import { itemSchema, type JsonSchema, propertiesOf, subSchema } from './schema.js';
import { schemaRules } from './schemaRules.js';

const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'];
const META = new Set(['metadata', 'kind', 'apiVersion']);

/** Of one schema, without those below it. */
const SCHEMA_WORK = 30;

/** What holds for a schema by where it stands. */
interface SchemaPosition {
  readonly isRoot: boolean;
  readonly isInMeta: boolean;
  /** Set where no default may be. */
  readonly noDefault: string | undefined;
}

const ROOT: SchemaPosition = { isRoot: true, isInMeta: false, noDefault: undefined };

export function checkOpenApiSchema(schema: JsonSchema, path: string): Cause[] {
  const causes = schemaFaults(schema, path, ROOT);
  return causes.length > 0 ? causes : [...(schemaRules()?.check(schema, path) ?? [])];
}

function schemaFaults(schema: JsonSchema, path: string, place: SchemaPosition): Cause[] {
  spendWork(SCHEMA_WORK);
  const inner = { ...place, isRoot: false };
  return [
    ...ownFaults(schema, path, place),
    ...additionalFaults(schema, path, inner),
    ...propertyFaults(schema, path, place),
    ...junctorFaults(schema, path, inner),
    ...itemsFaults(schema, path, inner),
    ...mapFaults(schema, path),
    ...listFaults(schema, path),
    ...keyFaults(schema, path),
    ...ruleFaults(schema, path),
  ];
}

const UNSUPPORTED: readonly (keyof JsonSchema)[] = [
  'id',
  'additionalItems',
  'patternProperties',
  'definitions',
  'dependencies',
  '$ref',
];

function ownFaults(schema: JsonSchema, path: string, { isInMeta, noDefault }: SchemaPosition): Cause[] {
  const { type = '' } = schema;
  const causes: Cause[] = [];
  if (type !== '' && !TYPES.includes(type)) causes.push(notSupported(`${path}.type`, type, TYPES));
  if (schema.default !== undefined && noDefault !== undefined)
    causes.push(forbiddenField(`${path}.default`, `must not be set ${noDefault}`));
  for (const name of UNSUPPORTED)
    if (schema[name] !== undefined && schema[name] !== '')
      causes.push(forbiddenField(`${path}.${name}`, `${name} is not supported`));
  if (type === 'null')
    causes.push(forbiddenField(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  if (Array.isArray(schema.items))
    causes.push(forbiddenField(`${path}.items`, 'items must be a schema object and not an array'));
  if (isInMeta && schema['x-kubernetes-embedded-resource'] === true)
    causes.push(
      forbiddenField(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'),
    );
  if (schema.uniqueItems === true)
    causes.push(
      forbiddenField(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    causes.push(
      invalidValue(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'),
    );
  return causes;
}

function additionalFaults(schema: JsonSchema, path: string, place: SchemaPosition): Cause[] {
  const { additionalProperties: additional } = schema;
  if (additional === undefined) return [];
  const causes: Cause[] = [];
  if (propertiesOf(schema).length > 0 && additional !== true)
    causes.push(
      forbiddenField(
        `${path}.additionalProperties`,
        'additionalProperties and properties are mutual exclusive',
      ),
    );
  const below = subSchema(additional);
  if (below === undefined) return causes;
  const noDefault = place.isInMeta
    ? 'inside additionalProperties applying to object metadata'
    : place.noDefault;
  return [...causes, ...schemaFaults(below, `${path}.additionalProperties`, { ...place, noDefault })];
}

function propertyFaults(schema: JsonSchema, path: string, place: SchemaPosition): Cause[] {
  const isResource = place.isRoot || schema['x-kubernetes-embedded-resource'] === true;
  return propertiesOf(schema).flatMap(([name, part]) => {
    const isMeta = isResource && META.has(name);
    return schemaFaults(part, `${path}.properties[${name}]`, {
      isRoot: false,
      isInMeta: place.isInMeta || isMeta,
      noDefault: isMeta && place.isRoot ? `in top-level ${name}` : place.noDefault,
    });
  });
}

function junctorFaults(schema: JsonSchema, path: string, place: SchemaPosition): Cause[] {
  const causes = (['allOf', 'oneOf', 'anyOf'] as const).flatMap((junctor) =>
    (schema[junctor] ?? []).flatMap((part, index) =>
      schemaFaults(part, `${path}.${junctor}[${index}]`, place),
    ),
  );
  return schema.not === undefined ? causes : [...causes, ...schemaFaults(schema.not, `${path}.not`, place)];
}

function itemsFaults(schema: JsonSchema, path: string, place: SchemaPosition): Cause[] {
  const items = itemSchema(schema);
  return items === undefined ? [] : schemaFaults(items, `${path}.items`, place);
}

function mapFaults(schema: JsonSchema, path: string): Cause[] {
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType === undefined) return [];
  const causes = typeDemand(schema, path, 'object', 'x-kubernetes-map-type');
  if (mapType !== 'atomic' && mapType !== 'granular')
    causes.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
  return causes;
}

function typeDemand({ type = '' }: JsonSchema, path: string, wanted: string, extension: string): Cause[] {
  if (type === wanted) return [];
  const why = `must be ${wanted} if ${extension} is specified`;
  return [type === '' ? required(`${path}.type`, why) : invalidValue(`${path}.type`, type, why)];
}

function listFaults(schema: JsonSchema, path: string): Cause[] {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const causes: Cause[] = [];
  if (listType !== undefined) {
    const demand = typeDemand(schema, path, 'array', 'x-kubernetes-list-type');
    causes.push(...demand);
    if (demand.length === 0 && listType === 'set') causes.push(...setItemFaults(schema, path));
    if (!['atomic', 'set', 'map'].includes(listType))
      causes.push(notSupported(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map']));
  }
  if (keys.length > 0 && listType !== 'map') {
    const why = 'must be map if x-kubernetes-list-map-keys is non-empty';
    const field = `${path}.x-kubernetes-list-type`;
    causes.push(listType === undefined ? required(field, why) : invalidValue(field, listType, why));
  }
  return listType === 'map' ? [...causes, ...mapListFaults(schema, path)] : causes;
}

/** Items of a set are told apart as wholes. */
function setItemFaults(schema: JsonSchema, path: string): Cause[] {
  const items = itemSchema(schema);
  const why = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const listType = items?.['x-kubernetes-list-type'];
  const mapType = items?.['x-kubernetes-map-type'];
  if (items?.type === 'array' && listType !== undefined && listType !== 'atomic')
    return [invalidValue(`${path}.items.x-kubernetes-list-type`, listType, why)];
  if (items?.type === 'object' && mapType !== 'atomic')
    return [invalidValue(`${path}.items.x-kubernetes-map-type`, listType ?? null, why)];
  return [];
}

function mapListFaults(schema: JsonSchema, path: string): Cause[] {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const items = itemSchema(schema);
  const field = `${path}.x-kubernetes-list-map-keys`;
  const causes: Cause[] = [];
  if (keys.length === 0) causes.push(required(field, 'must not be empty if x-kubernetes-list-type is map'));
  if (schema.items === undefined)
    causes.push(required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map'));
  if (items === undefined) return causes;
  if (items.type !== 'object') {
    const why = "must be object if parent array's x-kubernetes-list-type is map";
    return [...causes, invalidValue(`${path}.items.type`, items.type ?? '', why)];
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const part = getOwn(items.properties, key);
    if (part === undefined)
      causes.push(invalidValue(field, keys, 'entries must all be names of item properties'));
    else if (part.type === 'array' || part.type === 'object')
      causes.push(
        invalidValue(
          `${path}.items.properties[${key}].type`,
          items.type,
          "must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
      );
    if (seen.has(key)) causes.push(invalidValue(field, keys, 'must not contain duplicate entries'));
    seen.add(key);
  }
  return causes;
}

/** What tells items apart has to be there. */
function keyFaults(schema: JsonSchema, path: string): Cause[] {
  const items = itemSchema(schema);
  const listType = schema['x-kubernetes-list-type'];
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return [];
  const causes: Cause[] = [];
  if (items.nullable === true)
    causes.push(
      forbiddenField(
        `${path}.items.nullable`,
        `cannot be nullable when x-kubernetes-list-type is ${listType}`,
      ),
    );
  if (listType === 'set') return causes;
  for (const key of schema['x-kubernetes-list-map-keys'] ?? []) {
    const part = getOwn(items.properties, key);
    if (part === undefined) continue;
    const field = `${path}.items.properties[${key}]`;
    const why = 'this property is in x-kubernetes-list-map-keys, so it';
    if (items.required?.includes(key) !== true && part.default === undefined)
      causes.push(required(`${field}.default`, `${why} must have a default or be a required property`));
    if (part.nullable === true) causes.push(forbiddenField(`${field}.nullable`, `${why} cannot be nullable`));
  }
  return causes;
}

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** The form of the rules; what they say is checked by whoever can run them. */
function ruleFaults(schema: JsonSchema, path: string): Cause[] {
  const rules = schema['x-kubernetes-validations'] ?? [];
  if (rules.length > 0 && schemaRules() === undefined)
    return [forbiddenField(`${path}.x-kubernetes-validations`, 'rules are not served by this server')];
  return rules.flatMap((entry, index) => {
    const field = `${path}.x-kubernetes-validations[${index}]`;
    const { rule = '', message = '', messageExpression = '', reason } = entry;
    const hasBreaks = (text: string) => /[\n\r]/.test(text.trim());
    const causes: Cause[] = [];
    if (rule.trim() === '') causes.push(required(`${field}.rule`, 'rule is not specified'));
    else if (message !== '' && message.trim() === '')
      causes.push(invalidValue(`${field}.message`, message, 'must be non-empty if specified'));
    else if (hasBreaks(message))
      causes.push(invalidValue(`${field}.message`, message, 'must not contain line breaks'));
    else if (hasBreaks(rule) && message.trim() === '')
      causes.push(required(`${field}.message`, 'message must be specified if rule contains line breaks'));
    if (messageExpression !== '' && messageExpression.trim() === '')
      causes.push(required(`${field}.messageExpression`, 'messageExpression must be non-empty if specified'));
    if (reason !== undefined && !REASONS.includes(reason))
      causes.push(notSupported(`${field}.reason`, reason, REASONS));
    return causes;
  });
}
