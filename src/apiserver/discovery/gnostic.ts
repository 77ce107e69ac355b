// OpenAPI v2 in gnostic's protobuf: the messages and field numbers of openapi.v2 that our documents use. Pure.
// Guarantees: what a document holds is either written or refused; nothing is left out unnoticed.
import type { OpenApiV2 } from './openapiV2.js';

type Data = Readonly<Record<string, unknown>>;

export function encodeDocument({ swagger, info, paths, definitions }: OpenApiV2): Buffer {
  return join(
    text(1, swagger),
    bytes(2, join(text(1, info.title), text(2, info.version))),
    bytes(8, join(...named(2, paths, pathItem))),
    bytes(9, join(...named(1, definitions, schema))),
  );
}

/** A map, as gnostic has it: messages of name and value. */
function named(number: number, members: Data, encode: (value: Data) => Buffer): Buffer[] {
  return Object.entries(members).map(([name, value]) =>
    bytes(number, join(text(1, name), bytes(2, encode(value as Data)))),
  );
}

const SCHEMA: Readonly<Record<string, (value: unknown) => Buffer>> = {
  $ref: (value) => text(1, String(value)),
  format: (value) => text(2, String(value)),
  description: (value) => text(4, String(value)),
  required: (value) => join(...(value as readonly string[]).map((name) => text(19, name))),
  additionalProperties: (value) => bytes(21, bytes(1, schema(value as Data))),
  type: (value) => bytes(22, text(1, String(value))),
  items: (value) => bytes(23, bytes(1, schema(value as Data))),
  properties: (value) => bytes(25, join(...named(1, value as Data, schema))),
};

function schema(value: Data): Buffer {
  return join(...Object.entries(value).map(([name, member]) => encodeMember(SCHEMA, 31, name, member)));
}

function pathItem(value: Data): Buffer {
  const numbers: Readonly<Record<string, number>> = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };
  return join(
    ...Object.entries(value).map(([verb, operation]) =>
      bytes(known(numbers, verb), encodeOperation(operation as Data)),
    ),
  );
}

const OPERATION: Readonly<Record<string, (value: unknown) => Buffer>> = {
  operationId: (value) => text(5, String(value)),
  // ParametersItem.parameter, Parameter.non_body_parameter, NonBodyParameter.query_parameter_sub_schema.
  parameters: (value) =>
    join(
      ...(value as readonly Data[]).map((item) =>
        bytes(8, bytes(1, bytes(2, bytes(3, queryParameter(item))))),
      ),
    ),
  responses: (value) => bytes(9, join(...named(1, value as Data, response))),
};

function encodeOperation(value: Data): Buffer {
  return join(...Object.entries(value).map(([name, member]) => encodeMember(OPERATION, 13, name, member)));
}

function queryParameter({ name, in: place, type }: Data): Buffer {
  return join(text(2, String(place)), text(4, String(name)), text(6, String(type)));
}

/** ResponseValue.response: its description, and the schema (SchemaItem.schema) of what is sent. */
function response({ description, schema: body }: Data): Buffer {
  return bytes(1, join(text(1, String(description)), bytes(2, bytes(1, schema(body as Data)))));
}

/** A member that has a number, or an extension, which travels as YAML. */
function encodeMember(
  table: Readonly<Record<string, (value: unknown) => Buffer>>,
  extensions: number,
  name: string,
  value: unknown,
): Buffer {
  if (name.startsWith('x-')) {
    return bytes(extensions, join(text(1, name), bytes(2, text(2, `${JSON.stringify(value)}\n`))));
  }
  return known(table, name)(value);
}

function known<T>(table: Readonly<Record<string, T>>, name: string): T {
  const found = table[name];
  if (found === undefined) throw new Error(`OpenAPI v2 in protobuf: ${name} has no number here`);
  return found;
}

const join = (...parts: readonly Buffer[]) => Buffer.concat(parts);
const text = (number: number, value: string) => bytes(number, Buffer.from(value));
const bytes = (number: number, value: Buffer) => join(varint(number * 8 + 2), varint(value.length), value);

function varint(value: number): Buffer {
  const out: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...out, rest]);
    out.push((rest % 128) + 128);
  }
}
