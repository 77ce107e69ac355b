// OpenAPI v3 documents, one a group version: what kubectl asks before it sends a manifest, and for explain. Pure.
// Guarantees: the types and texts of all fields, how lists merge, and the options that writes take.

import { schemas } from '../../api/gen/schemas.js';
import type { CustomModel } from './customOpenApi.js';
import { modelIn, modelNames } from './modelNames.js';
import { type Descriptions, type Form, modelSchema, valueSchemas } from './openapiModels.js';
import { operationsOf } from './openapiPaths.js';

const pathOf = (group: string, version: string) =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

/** /openapi/v3 */
export function openApiIndex(kinds: readonly Pick<Form, 'type'>[]): object {
  const paths = new Set(kinds.map(({ type }) => pathOf(type.group, type.version)));
  return {
    paths: Object.fromEntries(
      [...paths].sort().map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}` }]),
    ),
  };
}

export interface DocumentOptions {
  readonly kinds: readonly Form[];
  /** Custom kinds, in the form of the document that is made. */
  readonly custom?: readonly CustomModel[];
  readonly version: string;
  readonly descriptions: Descriptions;
}

/** /openapi/v3/<path of a group version>; undefined when none of the kinds is in it. */
export function openApiDocument(
  { kinds, custom = [], version, descriptions }: DocumentOptions,
  path: string,
): object | undefined {
  const served = kinds.filter(({ type }) => pathOf(type.group, type.version) === path);
  const customized = custom.filter(({ type }) => pathOf(type.group, type.version) === path);
  if (served.length + customized.length === 0) return undefined;
  const dialect = { names: modelNames(kinds), descriptions, v3: true };
  const models = new Set<string>();
  for (const { model } of served) collect(model, models);
  if (customized.length > 0) for (const model of ['V1ObjectMeta', 'V1ListMeta']) collect(model, models);
  const named = [...models].map((model) => [
    dialect.names.get(model) ?? model,
    modelSchema(model, served, dialect),
  ]);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version },
    paths: Object.fromEntries([
      ...served.map((kind) => operationsOf(kind, pathOf(kind.type.group, kind.type.version), dialect)),
      ...customized.map((model) => model.path),
    ]),
    components: {
      schemas: {
        ...Object.fromEntries([...named, ...customized.flatMap((model) => model.schemas)]),
        ...valueSchemas(true),
      },
    },
  };
}

function collect(model: string, seen: Set<string>): void {
  const schema = schemas[model];
  if (seen.has(model) || schema === undefined) return;
  seen.add(model);
  for (const code of Object.values(schema)) collect(modelIn(code), seen);
}
