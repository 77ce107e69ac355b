// /openapi/v2: one document of all kinds, in JSON and in the protobuf that kubectl before 1.27 insists on. Pure.
// Guarantees: both forms come from the same data, so they say the same.
import { encodeDocument } from './gnostic.js';
import { modelNames } from './modelNames.js';
import type { DocumentOptions } from './openapi.js';
import { type Dialect, type Form, modelSchema, type Schema, valueSchemas } from './openapiModels.js';
import { operationsOf } from './openapiPaths.js';

/** Clients ask with an @, which is no letter of a media type; Go's newer parser refuses it in an answer. */
const OPENAPI_V2_ASKED = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
export const OPENAPI_V2_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export const wantsV2Protobuf = (accept = ''): boolean =>
  accept.includes(OPENAPI_V2_ASKED) || accept.includes(OPENAPI_V2_TYPE);

export interface OpenApiV2 {
  readonly swagger: '2.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Schema>>;
  readonly definitions: Readonly<Record<string, Schema>>;
}

export function openApiV2({ kinds, custom = [], version, descriptions }: DocumentOptions): OpenApiV2 {
  const dialect: Dialect = { names: modelNames(kinds), descriptions, v3: false };
  const named = [
    ...[...dialect.names].map(([model, name]) => [name, modelSchema(model, kinds, dialect)] as const),
    ...custom.flatMap(({ schemas }) => schemas),
  ];
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version },
    paths: Object.fromEntries([
      ...kinds.map((kind) => operationsOf(kind, pathOf(kind), dialect)),
      ...custom.map(({ path }) => path),
    ]),
    definitions: Object.fromEntries(
      [...named, ...Object.entries(valueSchemas(false))].sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  };
}

export function openApiV2Protobuf(document: OpenApiV2): Buffer {
  return encodeDocument(document);
}

const pathOf = ({ type }: Form) =>
  type.group === '' ? `api/${type.version}` : `apis/${type.group}/${type.version}`;
