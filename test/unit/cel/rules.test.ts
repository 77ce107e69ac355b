import { describe, expect, test } from 'vitest';
import type { JsonSchema } from '../../../src/api/structural/schema.js';
import { TooMuchWork, withinLimit } from '../../../src/api/workLimit.js';
import { checkRules } from '../../../src/cel/rules/checkRules.js';
import { makeValidator } from '../../../src/cel/rules/validator.js';

const PATH = 'spec.validation.openAPIV3Schema';
const object = (properties: Record<string, JsonSchema>, more: Partial<JsonSchema> = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more,
});
const rules = (...sources: readonly string[]) => ({
  'x-kubernetes-validations': sources.map((rule) => ({ rule })),
});
const faults = (schema: JsonSchema) =>
  checkRules(schema, PATH).map(({ field, message }) => `${field}: ${message}`);
const judged = (schema: JsonSchema, value: unknown, old?: unknown) =>
  (makeValidator(schema)?.evaluate(value, old, '') ?? []).map(({ field, message }) => `${field}: ${message}`);

const integers = { type: 'array', maxItems: 725, items: { type: 'integer' } } as const;
const conformance = object({
  spec: object(
    {
      x: { type: 'integer' },
      y: { type: 'integer' },
      firstArray: { type: 'array', maxItems: 1000, items: { type: 'integer' } },
      largeArray: integers,
    },
    rules(
      'self.x + self.y > 0',
      'self.firstArray.isSorted()',
      'self.largeArray.all(x, self.largeArray.all(y, y == x))',
    ),
  ),
  status: object({ health: { type: 'string' } }, rules("self.health == 'ok' || self.health == 'unhealthy'")),
});

describe('rules of a definition', () => {
  test('that are right pass', () => {
    expect(faults(conformance)).toEqual([]);
  });

  test.each([
    ['self.z == 100', "undefined field 'z'"],
    ['self = 42', 'Syntax error'],
    ['self.x', 'cel expression must evaluate to a bool'],
    ["self.x == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"],
  ])('%s is refused: %s', (rule, words) => {
    const [fault] = faults(object({ spec: object({ x: { type: 'integer' } }, rules(rule)) }));
    expect(fault).toContain(`${PATH}.properties[spec].x-kubernetes-validations[0].rule: Invalid value:`);
    expect(fault).toContain(words);
  });

  test('that could cost too much are refused where they stand, and in sum', () => {
    const open = {
      type: 'array',
      items: { type: 'string' },
      ...rules("self.all(s, s == 'string constant')"),
    } as const;
    const list: JsonSchema = { type: 'array', items: open };
    expect(faults(object({ spec: object({ list }) })).join()).toMatch(
      /items.x-kubernetes-validations\[0\].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x/,
    );
    const dear = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `f${at}`,
        { ...integers, ...rules('self.all(x, self.all(y, y == x))') },
      ]),
    );
    expect(faults(object(dear)).at(-1)).toContain(
      'estimated rule cost total for entire OpenAPIv3 schema exceeds budget',
    );
  });

  test('messageExpression must be a text, and oldSelf must be known', () => {
    const at = (schema: JsonSchema) => faults(object({ spec: schema })).join('\n');
    const rule = { rule: 'self > 0', messageExpression: 'self + 1' };
    expect(at({ type: 'integer', 'x-kubernetes-validations': [rule] })).toContain(
      'messageExpression must evaluate to a string',
    );
    expect(
      at({ type: 'array', maxItems: 5, items: { type: 'integer', ...rules('self > oldSelf') } }),
    ).toContain('oldSelf cannot be used on the uncorrelatable portion of the schema');
    const optional = { rule: 'self > 0', optionalOldSelf: true };
    expect(at({ type: 'integer', 'x-kubernetes-validations': [optional] })).toContain(
      'may not be set if oldSelf is not used in rule',
    );
  });
});

describe('rules of an object', () => {
  test('hold or are told with their path', () => {
    const spec = { x: 1, y: 1, firstArray: [1, 2], largeArray: [2, 2] };
    expect(judged(conformance, { spec, status: { health: 'ok' } })).toEqual([]);
    expect(
      judged(conformance, { spec: { ...spec, x: -1, firstArray: [2, 1] }, status: { health: 'bad' } }),
    ).toEqual([
      'spec: Invalid value: failed rule: self.x + self.y > 0',
      'spec: Invalid value: failed rule: self.firstArray.isSorted()',
      "status: Invalid value: failed rule: self.health == 'ok' || self.health == 'unhealthy'",
    ]);
  });

  test('that cost too much end the rest', () => {
    const largeArray = Array.from({ length: 725 }, () => 1);
    const [fault, ...more] = judged(conformance, {
      spec: { x: 1, y: 1, firstArray: [], largeArray },
      status: { health: 'bad' },
    });
    expect(fault).toContain(
      'no further validation rules will be run due to call cost exceeds limit for rule',
    );
    expect(more).toEqual([]);
  });

  const pairs = 'self.items.all(x, self.items.all(y, x + y >= 0))';
  const items = { type: 'array', maxItems: 280, items: { type: 'integer' } } as const;
  const several = (count: number) =>
    object({
      spec: object({ items }, rules(...Array.from({ length: count }, (_, i) => `${pairs} || ${i} < 0`))),
    });
  const full = { spec: { items: Array.from({ length: 280 }, (_, i) => i) } };

  test('may cost ten million units for one object, and no more', () => {
    expect(faults(several(20))).toEqual([]);
    expect(judged(several(15), full)).toEqual([]);
    expect(judged(several(20), full)).toEqual([
      'spec: Invalid value: "object": validation failed due to running out of cost budget, no further validation rules will be run',
    ]);
  });

  test('that cannot be run are told, also of a value that stays as it was', () => {
    const old = { spec: { x: 1, y: 1, firstArray: [] } };
    expect(judged(conformance, old, old)).toHaveLength(1);
    expect(judged(conformance, { spec: { x: 0, y: 0, firstArray: [], largeArray: [] } })).toHaveLength(1);
  });

  test('whose message costs too much end the rest', () => {
    const spec = object(
      { items },
      {
        'x-kubernetes-validations': [
          { rule: 'self.items.size() == 0', messageExpression: `${pairs} && ${pairs} ? 'a' : 'b'` },
          { rule: 'self.items.size() == 1' },
        ],
      },
    );
    const [fault, ...more] = judged(object({ spec }), full);
    expect(fault).toMatch(
      /^spec: Invalid value: "object": no further validation rules will be run due to call cost exceeds limit for messageExpression: "self/,
    );
    expect(more).toEqual([]);
  });

  test('fail with what went wrong', () => {
    expect(judged(conformance, { spec: { x: 1, y: 1, firstArray: [] } })).toEqual([
      'spec: Invalid value: "object": no such key: largeArray evaluating rule: self.largeArray.all(x, self.largeArray.all(y, y == x))',
    ]);
    const mixed: JsonSchema = object({
      p: { 'x-kubernetes-int-or-string': true, ...rules('self.size() > 0') },
    });
    expect(judged(mixed, { p: 5 })[0]).toContain(
      'did not match a supported operator, function or macro signature',
    );
    expect(judged(mixed, { p: 'a' })).toEqual([]);
  });

  test('about changes run on changes alone', () => {
    const schema = object({ num: { type: 'integer', ...rules('self > oldSelf') } });
    expect(judged(schema, { num: 1 })).toEqual([]);
    expect(judged(schema, { num: 2 }, { num: 1 })).toEqual([]);
    expect(judged(schema, { num: 1 }, { num: 1 })).toEqual([
      'num: Invalid value: 1: failed rule: self > oldSelf',
    ]);
    const optional = [{ rule: 'oldSelf.hasValue() || self == 1', optionalOldSelf: true }];
    const first = object({ num: { type: 'integer', 'x-kubernetes-validations': optional } });
    expect(judged(first, { num: 2 })).toHaveLength(1);
    expect(judged(first, { num: 2 }, { num: 7 })).toEqual([]);
  });

  test('find the old item of a list by its keys', () => {
    const item = object(
      { name: { type: 'string' }, size: { type: 'integer' } },
      rules('self.size >= oldSelf.size'),
    );
    const list: JsonSchema = {
      type: 'array',
      items: item,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    };
    const old = {
      list: [
        { name: 'a', size: 1 },
        { name: 'b', size: 5 },
      ],
    };
    expect(
      judged(
        object({ list }),
        {
          list: [
            { name: 'b', size: 4 },
            { name: 'a', size: 2 },
          ],
        },
        old,
      ),
    ).toEqual(['list[0]: Invalid value: failed rule: self.size >= oldSelf.size']);
  });

  test('that an unchanged value broke before do not stop a change of another', () => {
    const schema = object({ a: { type: 'string', ...rules("self.startsWith('x')") }, b: { type: 'string' } });
    expect(judged(schema, { a: 'old', b: '2' }, { a: 'old', b: '1' })).toEqual([]);
    expect(judged(schema, { a: 'new', b: '2' }, { a: 'old', b: '1' })).toHaveLength(1);
  });

  test('use their message, reason and path', () => {
    const told = (more: object) =>
      judged(
        object({ a: { type: 'integer' } }, { 'x-kubernetes-validations': [{ rule: 'self.a > 5', ...more }] }),
        { a: 1 },
      );
    expect(told({ message: ' too small ' })).toEqual([': Invalid value: too small']);
    expect(told({ messageExpression: "'a is ' + string(self.a)" })).toEqual([': Invalid value: a is 1']);
    expect(told({ messageExpression: 'string(self.a / 0)', message: 'no' })).toEqual([': Invalid value: no']);
    expect(told({ reason: 'FieldValueForbidden', fieldPath: '.a' })).toEqual([
      'a: Forbidden: failed rule: self.a > 5',
    ]);
    expect(told({ reason: 'FieldValueRequired', message: 'must' })).toEqual([': Required value: must']);
  });

  test('see metadata.name at the root, maps by key, embedded resources and escaped names', () => {
    const schema = object(
      {
        'a-b.c/d': { type: 'integer' },
        labels: { type: 'object', additionalProperties: { type: 'string', ...rules('self.size() < 3') } },
      },
      rules("self.metadata.name == 'x' && self.kind == 'K'", 'self.a__dash__b__dot__c__slash__d == 1'),
    );
    expect(
      faults(object({ labels: schema.properties?.['labels'] as JsonSchema }, { maxProperties: 1 })),
    ).toHaveLength(0);
    expect(
      judged(schema, { kind: 'K', metadata: { name: 'x' }, 'a-b.c/d': 1, labels: { q: 'long' } }),
    ).toEqual(['labels[q]: Invalid value: "long": failed rule: self.size() < 3']);
  });

  test('compare lists that are sets without their order', () => {
    const set: JsonSchema = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
    const schema = object({ s: { ...set, ...rules('self == oldSelf') } });
    expect(judged(schema, { s: ['a', 'b'] }, { s: ['b', 'a'] })).toEqual([]);
    expect(judged(schema, { s: ['a', 'b'] }, { s: ['b', 'c'] })).toHaveLength(1);
  });
});

test('rules that cost more than a limit of work are given up, and judged without one', () => {
  const object = { spec: { x: 1, y: 1, firstArray: [], largeArray: Array.from({ length: 300 }, () => 1) } };
  const evaluate = () => makeValidator(conformance)?.evaluate(object, undefined, '');
  let time = 0;
  const now = () => {
    time += 1;
    return time;
  };
  expect(() => withinLimit({ units: 1e9, ms: 2, now }, evaluate)).toThrow(TooMuchWork);
  expect(evaluate()).toEqual([]);
});

test('a schema without rules has no validator', () => {
  expect(makeValidator(object({ a: { type: 'string' } }))).toBeUndefined();
});
