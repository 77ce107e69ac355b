// One model as an OpenAPI schema: fields with their types and texts, and how lists merge. Pure.
// Guarantees: v2 and v3 say the same; only the form of references differs.
import { schemas } from '../../api/gen/schemas.js';
import type { KindDefinition } from '../../api/kind.js';
import { listType, mergeRule } from '../../api/mergedLists.js';
import { isAtomicMap, isAtomicStruct } from '../fields/listTypes.js';
import { messageOf } from '../protobuf/messages.js';
import { enumOf } from './enums.js';
import { modelIn } from './modelNames.js';

export type Schema = Readonly<Record<string, unknown>>;
/** By model and field; a model's own text is under the empty name. */
export type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** A kind in one of the forms in which it is served. */
export type Form = Pick<KindDefinition, 'type' | 'model'>;

export interface Dialect {
  readonly names: ReadonlyMap<string, string>;
  readonly descriptions: Descriptions;
  readonly v3: boolean;
}

const SCALARS: Readonly<Record<string, Schema>> = {
  s: { type: 'string' },
  i: { type: 'integer', format: 'int32' },
  n: { type: 'number', format: 'double' },
  b: { type: 'boolean' },
  t: { type: 'string', format: 'date-time' },
  u: { type: 'string', format: 'date-time' },
  y: { type: 'string', format: 'byte' },
};

const OBJECT: Schema = { type: 'object' };
/** Where a schema has a value, it may be of any type: a default, what an enumeration names. Elsewhere only objects may be. */
const JSON_SCHEMA = 'V1JSONSchemaProps';

const QUANTITY = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const INT_OR_STRING = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';

/** Values with a form of their own, to which fields refer: each version has its own way to say what they may be. */
export function valueSchemas(v3: boolean): Readonly<Record<string, Schema>> {
  return {
    [INT_OR_STRING]: {
      description:
        'IntOrString is a type that can hold an int32 or a string. In JSON and YAML it is the one or the other.',
      format: 'int-or-string',
      ...(v3 ? { oneOf: [{ type: 'integer' }, { type: 'string' }] } : { type: 'string' }),
    },
    [QUANTITY]: {
      description: 'Quantity is a fixed-point number with an optional suffix, such as 100m, 2Gi or 5e3.',
      ...(v3 ? { oneOf: [{ type: 'string' }, { type: 'number' }] } : { type: 'string' }),
    },
  };
}

export function modelSchema(model: string, kinds: readonly Form[], dialect: Dialect): Schema {
  const fields = Object.entries(schemas[model] ?? {});
  const required = fields.filter(([, code]) => code.startsWith('!')).map(([name]) => name);
  const gvks = kinds
    .filter((kind) => kind.model === model)
    .map(({ type }) => ({ group: type.group, version: type.version, kind: type.kind }));
  const texts = dialect.descriptions[model] ?? {};
  const quantities = new Set(
    messageOf(model).fields.flatMap(({ name, item }) => (item === 'q' ? [name] : [])),
  );
  const properties = fields.map(([name, code]): [string, Schema] => [
    name,
    {
      ...descriptionOf(texts[name], code, dialect),
      ...fieldSchema(code.replace(/^!/, '').replace(/s$/, quantities.has(name) ? 'q' : 's'), {
        values: enumOf(model, name),
        anything: model === JSON_SCHEMA ? {} : OBJECT,
        dialect,
      }),
      ...mergeExtensions(model, name, code),
    },
  ]);
  return {
    ...(texts[''] === undefined || texts[''] === '' ? {} : { description: texts[''] }),
    type: 'object',
    ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
    ...(required.length === 0 ? {} : { required }),
    ...(isAtomicStruct(model, '') ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(gvks.length === 0 ? {} : { 'x-kubernetes-group-version-kind': gvks }),
  };
}

/** A reference without a text of its own has that of what it refers to. */
function descriptionOf(text: string | undefined, code: string, { descriptions }: Dialect): Schema {
  const model = modelIn(code);
  const found = text ?? (model === 'V1ObjectMeta' ? METADATA : descriptions[model]?.['']);
  return found === undefined || found === '' ? {} : { description: found };
}

const METADATA =
  "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

interface FieldOptions {
  readonly values: readonly string[] | undefined;
  /** What the model means by any value. */
  readonly anything: Schema;
  readonly dialect: Dialect;
}

function fieldSchema(code: string, options: FieldOptions): Schema {
  const { values, anything, dialect } = options;
  if (code === 'any') return anything;
  if (code.startsWith('[]')) return { type: 'array', items: fieldSchema(code.slice(2), options) };
  if (code.startsWith('{}'))
    return { type: 'object', additionalProperties: fieldSchema(code.slice(2), options) };
  if (values !== undefined) return { ...SCALARS[code], enum: values };
  const name = code === 'x' ? INT_OR_STRING : code === 'q' ? QUANTITY : dialect.names.get(code);
  if (name === undefined) return SCALARS[code] ?? OBJECT;
  return dialect.v3
    ? { allOf: [{ $ref: `#/components/schemas/${name}` }] }
    : { $ref: `#/definitions/${name}` };
}

const RETAIN_KEYS = new Set([
  'V1PodSpec.volumes',
  'V1PodSpec.resourceClaims',
  'V1PodStatus.resourceClaimStatuses',
]);

/** Clients make strategic merge patches and apply configurations by these. */
function mergeExtensions(model: string, field: string, code: string): Schema {
  const rule = mergeRule(model, field);
  const list = listType(model, field);
  const strategy = RETAIN_KEYS.has(`${model}.${field}`) ? 'merge,retainKeys' : 'merge';
  return {
    ...(/^!?\[\]/.test(code) ? listExtensions(list?.keys) : {}),
    ...(isAtomicMap(model, field) ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(rule?.key === undefined ? {} : { 'x-kubernetes-patch-merge-key': rule.key }),
    ...(rule === undefined ? {} : { 'x-kubernetes-patch-strategy': strategy }),
    ...(`${model}.${field}` === 'V1DeploymentSpec.strategy'
      ? { 'x-kubernetes-patch-strategy': 'retainKeys' }
      : {}),
  };
}

function listExtensions(keys: readonly string[] | undefined): Schema {
  if (keys === undefined) return { 'x-kubernetes-list-type': 'atomic' };
  if (keys.length === 0) return { 'x-kubernetes-list-type': 'set' };
  return { 'x-kubernetes-list-map-keys': keys, 'x-kubernetes-list-type': 'map' };
}
