// Custom kinds in OpenAPI documents: their own schema, with the members that every object has. Pure.
// Guarantees: v3 says what the definition says; v2 leaves out what v2 has no words for, so that clients do not refuse too much.
import type { KindDefinition } from '../../api/kind.js';
import { isMembers, type Members, setOwn } from '../../api/ownKeys.js';
import type { ResourceType } from '../../api/resources.js';
import type { Served } from '../verbs/served.js';
import type { Schema } from './openapiModels.js';
import { operationsOf } from './openapiPaths.js';

/** A custom kind in one of its versions, as the documents show it. */
export interface CustomModel {
  readonly type: ResourceType;
  /** `com.example.v1.Widget`. */
  readonly name: string;
  readonly schemas: readonly (readonly [string, Schema])[];
  readonly path: readonly [string, Schema];
}

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const TEXTS = {
  apiVersion:
    'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
  kind: 'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
  metadata:
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
};

export function customModel({ kind, version }: Served, v3: boolean): CustomModel {
  const { type, model } = version ?? kind;
  const schema = (version ?? kind).custom?.schema.source ?? {};
  const name = [...type.group.split('.').reverse(), type.version, type.kind].join('.');
  const gvk = { group: type.group, version: type.version, kind: type.kind };
  const list = listSchema(kind, gvk, { name, v3 });
  const object = objectSchema((v3 ? schema : toV2(schema)) as Schema, gvk, v3);
  const names = new Map([[model, name]]);
  const path = operationsOf({ type, model }, `apis/${type.group}/${type.version}`, {
    names,
    descriptions: {},
    v3,
  });
  return {
    type,
    name,
    schemas: [
      [name, object],
      [`${name}List`, list],
    ],
    path,
  };
}

const refTo = (name: string, v3: boolean): Schema =>
  v3 ? { allOf: [{ $ref: `#/components/schemas/${name}` }] } : { $ref: `#/definitions/${name}` };

function objectSchema(schema: Schema, gvk: object, v3: boolean): Schema {
  const ends = { 'x-kubernetes-group-version-kind': [gvk] };
  // Of a kind that is open at its root v2 names no member: kubectl would refuse every other.
  if (!v3 && schema['x-kubernetes-preserve-unknown-fields'] === true) return { type: 'object', ...ends };
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
  return {
    ...schema,
    properties: {
      ...properties,
      apiVersion: { description: TEXTS.apiVersion, type: 'string' },
      kind: { description: TEXTS.kind, type: 'string' },
      metadata: { description: TEXTS.metadata, ...refTo(`${META}.ObjectMeta`, v3) },
    },
    ...ends,
  };
}

function listSchema(kind: KindDefinition, gvk: Members, { name, v3 }: { name: string; v3: boolean }): Schema {
  const listKind = kind.listKind ?? `${String(gvk['kind'])}List`;
  return {
    description: `${listKind} is a list of ${String(gvk['kind'])}`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: { description: TEXTS.apiVersion, type: 'string' },
      items: {
        description: `List of ${kind.type.resource}.`,
        type: 'array',
        items: refTo(name, v3),
      },
      kind: { description: TEXTS.kind, type: 'string' },
      metadata: { description: TEXTS.metadata, ...refTo(`${META}.ListMeta`, v3) },
    },
    'x-kubernetes-group-version-kind': [{ ...gvk, kind: listKind }],
  };
}

const NOT_IN_V2 = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'nullable', 'x-kubernetes-validations']);

/** kubectl checks manifests by v2: what a schema leaves open must be open there too. */
function toV2(schema: unknown): unknown {
  if (!isMembers(schema)) return schema;
  const isOpen =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema['x-kubernetes-int-or-string'] === true;
  const isAny = schema['nullable'] === true;
  const result: Members = {};
  for (const [name, value] of Object.entries(schema)) {
    if (NOT_IN_V2.has(name)) continue;
    if ((isAny || isOpen) && ['type', 'items', 'properties', 'additionalProperties'].includes(name)) {
      if (isAny || name !== 'type' || schema['x-kubernetes-int-or-string'] === true) continue;
    }
    if (name === 'properties') result[name] = eachV2(value as Members);
    else if (name === 'items') result[name] = toV2(value);
    else if (name === 'additionalProperties') {
      // A boolean has no place in the protobuf of v2; true says nothing, and false is said by pruning.
      if (isMembers(value)) result[name] = toV2(value);
    } else setOwn(result, name, value);
  }
  return result;
}

function eachV2(properties: Members): Members {
  const result: Members = {};
  for (const [name, value] of Object.entries(properties)) setOwn(result, name, toV2(value));
  return result;
}
