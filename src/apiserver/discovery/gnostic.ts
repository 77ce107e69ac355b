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
  title: (value) => text(3, String(value)),
  default: (value) => bytes(5, anything(value)),
  multipleOf: (value) => double(6, value),
  maximum: (value) => double(7, value),
  exclusiveMaximum: (value) => count(8, Number(value)),
  minimum: (value) => double(9, value),
  exclusiveMinimum: (value) => count(10, Number(value)),
  maxLength: (value) => count(11, Number(value)),
  minLength: (value) => count(12, Number(value)),
  pattern: (value) => text(13, String(value)),
  maxItems: (value) => count(14, Number(value)),
  minItems: (value) => count(15, Number(value)),
  maxProperties: (value) => count(17, Number(value)),
  minProperties: (value) => count(18, Number(value)),
  enum: (value) => join(...(value as readonly unknown[]).map((one) => bytes(20, anything(one)))),
  externalDocs: (value) => bytes(29, externalDocs(value as Data)),
  example: (value) => bytes(30, anything(value)),
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

/** Any: a value as YAML. */
const anything = (value: unknown) => text(2, `${JSON.stringify(value)}\n`);
const externalDocs = ({ description = '', url = '' }: Data) =>
  join(text(1, String(description)), text(2, String(url)));
const count = (number: number, value: number) => join(varint(number * 8), varint(Math.max(0, value)));

function double(number: number, value: unknown): Buffer {
  const out = Buffer.alloc(8);
  out.writeDoubleLE(Number(value));
  return join(varint(number * 8 + 1), out);
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
