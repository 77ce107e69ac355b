import { describe, expect, test } from 'vitest';
import { copyJson, type Members } from '../../../src/api/ownKeys.js';
import { fillDefaults } from '../../../src/api/structural/defaulting.js';
import { parseJsonPath } from '../../../src/api/structural/jsonPath.js';
import { checkListKeys } from '../../../src/api/structural/listKeys.js';
import { checkOpenApiSchema } from '../../../src/api/structural/openApiSchema.js';
import { matchesPattern, requirePattern } from '../../../src/api/structural/pattern.js';
import { prunedResource } from '../../../src/api/structural/prune.js';
import { type JsonSchema, structural } from '../../../src/api/structural/schema.js';
import { checkStructural } from '../../../src/api/structural/structure.js';
import { makeValidator } from '../../../src/api/structural/validate.js';

const told = (schema: JsonSchema, value: unknown, old?: unknown) =>
  makeValidator(schema)
    .validate(value, old)
    .map(({ field, message }) => `${field}: ${message}`);

describe('values', () => {
  test.each<[string, JsonSchema, unknown, string[]]>([
    [
      'a type',
      { type: 'string' },
      1,
      [': Invalid value: "integer":  in body must be of type string: "integer"'],
    ],
    [
      'null where it is not allowed',
      { properties: { a: { type: 'string' } } },
      { a: null },
      ['a: Invalid value: "null": a in body must be of type string: "null"'],
    ],
    ['null where it is', { properties: { a: { type: 'string', nullable: true } } }, { a: null }, []],
    ['an integer that is a number too', { properties: { a: { type: 'number' } } }, { a: 1 }, []],
    [
      'int or string',
      { properties: { a: { 'x-kubernetes-int-or-string': true } } },
      { a: true },
      ['a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"'],
    ],
    ['what is required', { required: ['a'] }, {}, ['a: Required value']],
    [
      'an enumeration',
      { properties: { a: { enum: ['x', 'y'] } } },
      { a: 'z' },
      ['a: Unsupported value: "z": supported values: "x", "y"'],
    ],
    [
      'a pattern',
      { properties: { a: { pattern: '^b+$' } } },
      { a: 'c' },
      ['a: Invalid value: "c": a in body should match \'^b+$\''],
    ],
    ['lengths in characters', { properties: { a: { maxLength: 2 } } }, { a: '😀😀' }, []],
    [
      'too long',
      { properties: { a: { maxLength: 2 } } },
      { a: 'abc' },
      ['a: Too long: may not be more than 2 bytes'],
    ],
    [
      'too few items',
      { properties: { a: { minItems: 2, items: {} } } },
      { a: [1] },
      ['a: Invalid value: 1: a in body should have at least 2 items'],
    ],
    [
      'too many items',
      { properties: { a: { maxItems: 1, items: {} } } },
      { a: [1, 2] },
      ['a: Too many: 2: must have at most 1 item'],
    ],
    [
      'an exclusive bound',
      { properties: { a: { maximum: 3, exclusiveMaximum: true } } },
      { a: 3 },
      ['a: Invalid value: 3: a in body should be less than 3'],
    ],
    [
      'a multiple',
      { properties: { a: { multipleOf: 2 } } },
      { a: 3 },
      ['a: Invalid value: 3: a in body should be a multiple of 2'],
    ],
    [
      'a format',
      { properties: { a: { type: 'string', format: 'date-time' } } },
      { a: 'x' },
      ['a: Invalid value: "x": a in body must be of type date-time: "x"'],
    ],
    [
      'a format that is not known',
      { properties: { a: { type: 'string', format: 'colour' } } },
      { a: 'x' },
      [],
    ],
    [
      'additional properties',
      { properties: { m: { additionalProperties: { type: 'integer' } } } },
      { m: { k: 'x' } },
      ['m.k: Invalid value: "string": m.k in body must be of type integer: "string"'],
    ],
    [
      'not',
      { properties: { a: { not: { enum: ['x'] } } } },
      { a: 'x' },
      ['<nil>: Invalid value: "": "a" must not validate the schema (not)'],
    ],
    [
      'one of several that both fit',
      { properties: { a: { oneOf: [{ minimum: 1 }, { minimum: 2 }] } } },
      { a: 3 },
      [
        '<nil>: Invalid value: "": "a" must validate one and only one schema (oneOf). Found 2 valid alternatives',
      ],
    ],
    [
      'any of none',
      { properties: { a: { anyOf: [{ minimum: 5 }, { enum: [1] }] } } },
      { a: 3 },
      [
        '<nil>: Invalid value: "": "a" must validate at least one schema (anyOf)',
        'a: Invalid value: 3: a in body should be greater than or equal to 5',
      ],
    ],
  ])('%s', (_, schema, value, expected) => expect(told(schema, value)).toEqual(expected));

  test('what was wrong before is not told of an update, except where it was touched', () => {
    const schema: JsonSchema = {
      properties: {
        a: { maximum: 1 },
        list: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { properties: { k: {}, v: { maximum: 1 } } },
        },
      },
    };
    const old = { a: 5, list: [{ k: 'x', v: 9 }] };
    expect(told(schema, { ...old, b: 1 }, old)).toEqual([]);
    expect(told(schema, { ...old, a: 6 }, old)).toHaveLength(1);
    const moved = {
      ...old,
      list: [
        { k: 'y', v: 0 },
        { k: 'x', v: 9 },
      ],
    };
    expect(told(schema, moved, old)).toEqual([]);
    expect(told(schema, { ...old, list: [{ k: 'z', v: 9 }] }, old)).toHaveLength(1);
  });

  test('an expression that would take a backtracking engine for ever is matched in linear time', () => {
    expect(matchesPattern('^(a+)+$', `${'a'.repeat(50_000)}!`)).toBe(false);
    expect(() => requirePattern('(?=x)')).toThrow();
  });
});

test('items that are doubled are told once', () => {
  const list = (listType: string, items: JsonSchema, keys?: string[]): JsonSchema => ({
    properties: {
      l: {
        type: 'array',
        items,
        'x-kubernetes-list-type': listType,
        ...(keys === undefined ? {} : { 'x-kubernetes-list-map-keys': keys }),
      },
    },
  });
  const faults = (schema: JsonSchema, value: unknown) =>
    checkListKeys(value, structural(schema)).map(({ field, message }) => `${field}: ${message}`);
  expect(faults(list('set', {}), { l: [1, 2, 1, 1] })).toEqual(['l[2]: Duplicate value: 1']);
  expect(faults(list('map', {}, ['k']), { l: [{ k: 1 }, { k: 1, v: 2 }] })).toEqual([
    'l[1]: Duplicate value: {"k":1}',
  ]);
});

test('a path finds what kubectl finds', () => {
  const object = {
    spec: {
      list: [
        { t: 'a', v: 1 },
        { t: 'b', v: 2 },
      ],
    },
    metadata: { annotations: { 'x.y/z': 'q' } },
  };
  const find = (path: string) => parseJsonPath(path).find(object);
  expect(find('.spec.list[?(@.t=="b")].v')).toEqual([2]);
  expect(find('.spec.list[*].v')).toEqual([1, 2]);
  expect(find('.spec.list[-1].t')).toEqual(['b']);
  expect(find('.metadata.annotations.x\\.y/z')).toEqual(['q']);
  expect(find(".metadata.annotations['x.y/z']")).toEqual(['q']);
  expect(() => find('.spec[')).toThrow(/unrecognized path/);
});

test.each<[string, JsonSchema, string]>([
  [
    'no type',
    { type: 'object', properties: { a: {} } },
    's.properties[a].type: Required value: must not be empty for specified object fields',
  ],
  [
    'a list without items',
    { type: 'object', properties: { a: { type: 'array' } } },
    's.properties[a].items: Required value: must be specified',
  ],
  [
    'a type in a junctor',
    { type: 'object', properties: { a: { type: 'string', allOf: [{ type: 'string' }] } } },
    's.properties[a].allOf[0].type: Forbidden: must be empty to be structural',
  ],
  [
    'a field only in a junctor',
    { type: 'object', allOf: [{ properties: { b: { minimum: 1 } } }] },
    's.properties[b]: Required value: because it is defined in s.allOf[0].properties[b]',
  ],
  [
    'metadata',
    {
      type: 'object',
      properties: { metadata: { type: 'object', properties: { labels: { type: 'object' } } } },
    },
    's.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
  ],
  [
    'a bad pattern',
    { type: 'object', properties: { a: { type: 'string', pattern: '(' } } },
    's.properties[a].pattern: Invalid value: "(": must be a valid regular expression, but isn\'t',
  ],
])('a schema is not structural: %s', (_, schema, expected) => {
  const [first] = checkStructural(schema, 's');
  expect(`${first?.field}: ${first?.message}`).toContain(expected);
});

test('rules are refused while nobody can run them', () => {
  const [fault] = checkOpenApiSchema({ type: 'object', 'x-kubernetes-validations': [{ rule: 'true' }] }, 's');
  expect(fault).toMatchObject({ field: 's.x-kubernetes-validations', reason: 'FieldValueForbidden' });
});

describe('by chance', () => {
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const pick = <T>(...values: T[]) => values[Math.floor(random() * values.length)] as T;
  const NAMES = ['a', 'b', 'c', 'metadata', '__proto__'];

  function someSchema(depth: number): JsonSchema {
    const more = pick({}, { nullable: true }, { default: pick<unknown>('d', 1, { a: 'x' }, [1]) });
    if (depth > 3) return { type: pick('string', 'integer'), ...more };
    switch (pick(0, 1, 2, 3)) {
      case 0:
        return { type: 'array', items: someSchema(depth + 1), ...more };
      case 1:
        return { type: 'object', additionalProperties: someSchema(depth + 1), ...more };
      case 2:
        return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...more };
      default:
        return {
          type: 'object',
          properties: Object.fromEntries(NAMES.slice(0, 3).map((name) => [name, someSchema(depth + 1)])),
          ...more,
        };
    }
  }

  function someValue(depth: number): unknown {
    if (depth > 4) return pick<unknown>('x', 1, null, true);
    return pick<() => unknown>(
      () => pick<unknown>('x', 1, null),
      () => [someValue(depth + 1), someValue(depth + 1)],
      () =>
        Object.fromEntries(NAMES.filter(() => random() < 0.6).map((name) => [name, someValue(depth + 1)])),
    )();
  }

  test('pruning and filling in twice is the same as once, and changes nothing of what was given', () => {
    for (let round = 0; round < 2000; round += 1) {
      const schema = structural({
        type: 'object',
        properties: { spec: someSchema(0), status: someSchema(0) },
      });
      const given = { spec: someValue(0), status: someValue(0), other: 1 } as Members;
      const before = copyJson(given);
      const once = prunedResource(given, schema, { paths: [] });
      fillDefaults(once, schema);
      expect(given).toEqual(before);
      const twice = prunedResource(once, schema, { paths: [] });
      fillDefaults(twice, schema);
      const unknown: string[] = [];
      prunedResource(twice, schema, { paths: unknown });
      const thrice = copyJson(twice);
      fillDefaults(thrice, schema);
      expect(thrice).toEqual(twice);
      expect(unknown).toEqual([]);
    }
  });
});
