// How the numbers of protobuf are read from .proto files.
// Guarantees: names become those of JSON, parts of the message around them are told from fields, and nothing is lost silently.
import { describe, expect, test } from 'vitest';
import { numbersOf, readProto } from '../../../../scripts/lib/protoNumbers.mjs';

const PROTO = `
syntax = "proto2";
package example.api.shop.v1;

// A shop = 99;
message Shop {
  // name = 7 in a comment
  optional string name = 2;

  repeated Shelf shelves = 1;

  map<string, .example.api.resource.Amount> stock = 3;

  optional Place place = 5;

  optional string uID = 4;

  optional .example.api.meta.Empty open = 6;

  optional int32 old = 8;
}

message Shelf {
  optional bool full = 1;
}

message Place {
  optional string city = 1;
}
`;
const META = `
package example.api.meta;
message Empty {
}
`;
const SCHEMAS = {
  V1Shop: {
    apiVersion: 's',
    kind: 's',
    name: '!s',
    shelves: '[]V1Shelf',
    stock: '{}s',
    city: 's',
    uid: 's',
    open: 'any',
  },
  V1Shelf: { full: 'b' },
};

const messages = new Map([...readProto(PROTO), ...readProto(META)]);
const tableOf = (schemas: Record<string, Record<string, string>>) =>
  numbersOf({ roots: [['V1Shop', 'example.api.shop.v1.Shop']], schemas, messages });

describe('the numbers of a message', () => {
  test('are those of its fields in their order, under the names that JSON has', () => {
    const { table, missing } = tableOf(SCHEMAS);
    expect(Object.fromEntries(table)).toEqual({
      V1Shop: 'shelves=1 name=2 stock=3 uid=4 +place=5 open=6e',
      'V1Shop+place': 'city=1',
      V1Shelf: 'full=1',
    });
    expect(missing).toEqual([]);
  });

  test('that lacks one which a schema has are told', () => {
    const { missing } = tableOf({ ...SCHEMAS, V1Shelf: { full: 'b', deep: 'b' } });
    expect(missing).toEqual(['V1Shelf.deep']);
  });

  test('of a message that no file has are refused', () => {
    const roots = [['V1Shop', 'example.api.shop.v1.Store']];
    expect(() => numbersOf({ roots, schemas: SCHEMAS, messages })).toThrow(
      'no .proto file has example.api.shop.v1.Store, which V1Shop is',
    );
  });
});

describe('a field is marked', () => {
  const field = (type: string, inner: string) => {
    const text = `package k8s.io.apimachinery.pkg.api.resource;\nmessage Shop {\n  optional ${type} it = 1;\n}\nmessage ${type} {\n${inner}}\n`;
    const roots = [['V1Shop', 'k8s.io.apimachinery.pkg.api.resource.Shop']];
    return numbersOf({ roots, schemas: { V1Shop: { it: 's' } }, messages: readProto(text) }).table.get(
      'V1Shop',
    );
  };

  test.each([
    ['a Quantity', 'Quantity', '  optional string string = 1;\n', 'it=1q'],
    ['a list that is a message', 'ExtraValue', '  repeated string items = 1;\n', 'it=1l'],
    ['a schema or a list of them', 'JSONSchemaPropsOrArray', '  optional Shop a = 1;\n', 'it=1a'],
    ['a schema or a boolean', 'JSONSchemaPropsOrBool', '  optional bool b = 1;\n', 'it=1o'],
    ['a schema or names', 'JSONSchemaPropsOrStringArray', '  optional Shop a = 1;\n', 'it=1d'],
    ['an empty message', 'Nothing', '', 'it=1e'],
    ['none of these', 'Plain', '  optional bool b = 1;\n', 'it=1'],
  ])('as %s', (_, type, inner, expected) => {
    expect(field(type, inner)).toBe(expected);
  });
});
