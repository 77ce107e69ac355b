// The path of one object in an OpenAPI document, with the options that its verbs take. Pure.
// Guarantees: enough for clients that look whether a server knows dryRun and fieldValidation, and which kind a path has.
import type { Dialect, Form, Schema } from './openapiModels.js';

const OPTIONS = ['dryRun', 'fieldManager', 'fieldValidation'];

export function operationsOf({ type, model }: Form, path: string, { names, v3 }: Dialect): [string, Schema] {
  const scope = type.namespaced ? 'namespaces/{namespace}/' : '';
  const gvk = { group: type.group, version: type.version, kind: type.kind };
  const name = names.get(model) ?? model;
  const schema = { $ref: v3 ? `#/components/schemas/${name}` : `#/definitions/${name}` };
  const ok = v3
    ? { description: 'OK', content: { 'application/json': { schema } } }
    : { description: 'OK', schema };
  const operation = (action: string, method: string) => ({
    operationId: `${method}${type.kind}`,
    parameters: OPTIONS.map((option) => parameter(option, v3)),
    responses: { 200: ok },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
  });
  return [
    `/${path}/${scope}${type.resource}/{name}`,
    { get: operation('get', 'read'), put: operation('put', 'replace'), patch: operation('patch', 'patch') },
  ];
}

function parameter(name: string, v3: boolean): Schema {
  const type = { type: 'string', uniqueItems: true };
  return v3 ? { name, in: 'query', schema: type } : { name, in: 'query', ...type };
}
