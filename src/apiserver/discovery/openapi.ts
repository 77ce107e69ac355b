// OpenAPI v3 documents from the generated schemas: what kubectl asks before it sends a manifest, and for explain. Pure.
// Guarantees: small on purpose: the types of all fields, and that PATCH knows fieldValidation.
import { schemas } from '../../api/gen/schemas.js';
import type { KindDefinition } from '../../api/kind.js';

type Schema = Record<string, unknown>;
/** A kind in one of the forms it is served in. */
type Form = Pick<KindDefinition, 'type' | 'model'>;

const SCALARS: Readonly<Record<string, Schema>> = {
  s: { type: 'string' },
  i: { type: 'integer', format: 'int32' },
  n: { type: 'number', format: 'double' },
  b: { type: 'boolean' },
  t: { type: 'string', format: 'date-time' },
  u: { type: 'string', format: 'date-time' },
  y: { type: 'string', format: 'byte' },
  x: { oneOf: [{ type: 'integer' }, { type: 'string' }] },
  any: { type: 'object' },
};

const pathOf = (group: string, version: string) =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

/** /openapi/v3 */
export function openApiIndex(kinds: readonly Form[]): object {
  const paths = new Set(kinds.map(({ type }) => pathOf(type.group, type.version)));
  return {
    paths: Object.fromEntries(
      [...paths].sort().map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}` }]),
    ),
  };
}

/** /openapi/v3/<path of a group version>; undefined when none of the kinds is in it. */
export function openApiDocument(kinds: readonly Form[], path: string, version: string): object | undefined {
  const served = kinds.filter(({ type }) => pathOf(type.group, type.version) === path);
  if (served.length === 0) return undefined;
  const models = new Set<string>();
  for (const { model } of served) collect(model, models);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version },
    paths: Object.fromEntries(served.map((kind) => pathItem(kind, path))),
    components: {
      schemas: Object.fromEntries([...models].sort().map((model) => [model, modelSchema(model, served)])),
    },
  };
}

function pathItem({ type, model }: Form, path: string): [string, object] {
  const scope = type.namespaced ? 'namespaces/{namespace}/' : '';
  const gvk = { group: type.group, version: type.version, kind: type.kind };
  const operation = (action: string, method: string) => ({
    operationId: `${method}${type.kind}`,
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
    parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
      name,
      in: 'query',
      schema: { type: 'string', uniqueItems: true },
    })),
    responses: {
      200: {
        description: 'OK',
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${model}` } } },
      },
    },
  });
  return [
    `/${path}/${scope}${type.resource}/{name}`,
    { get: operation('get', 'read'), put: operation('put', 'replace'), patch: operation('patch', 'patch') },
  ];
}

function modelSchema(model: string, kinds: readonly Form[]): Schema {
  const fields = Object.entries(schemas[model] ?? {});
  const required = fields.filter(([, code]) => code.startsWith('!')).map(([name]) => name);
  const gvks = kinds
    .filter((kind) => kind.model === model)
    .map(({ type }) => ({ group: type.group, version: type.version, kind: type.kind }));
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(([name, code]) => [name, fieldSchema(code)])),
    ...(required.length === 0 ? {} : { required }),
    ...(gvks.length === 0 ? {} : { 'x-kubernetes-group-version-kind': gvks }),
  };
}

function fieldSchema(code: string): Schema {
  if (code.startsWith('!')) return fieldSchema(code.slice(1));
  if (code.startsWith('[]')) return { type: 'array', items: fieldSchema(code.slice(2)) };
  if (code.startsWith('{}')) return { type: 'object', additionalProperties: fieldSchema(code.slice(2)) };
  return SCALARS[code] ?? { allOf: [{ $ref: `#/components/schemas/${code}` }] };
}

function collect(model: string, seen: Set<string>): void {
  if (seen.has(model) || schemas[model] === undefined) return;
  seen.add(model);
  for (const code of Object.values(schemas[model])) collect(code.replace(/^!?(\[\]|\{\})*/, ''), seen);
}
