import { describe, expect, test } from 'vitest';
import { ConfigFields } from '../../../src/base/configFields.js';

const refuse = (path: string, why: string) => new Error(`${path}: ${why}`);
const fieldsOf = (raw: unknown) => new ConfigFields(raw, refuse);

test('reads each kind of value, and null as nothing', () => {
  const fields = fieldsOf({
    name: 'a',
    mode: 'fast',
    isOn: false,
    count: 3,
    period: '1m30s',
    names: ['x', 'y'],
    under: { depth: 1 },
    items: [{ at: 0 }, { at: 1 }],
    free: { whatever: [1] },
    nothing: null,
  });
  expect(fields.text('name')).toBe('a');
  expect(fields.oneOf('mode', ['slow', 'fast'])).toBe('fast');
  expect(fields.flag('isOn')).toBe(false);
  expect(fields.number('count', 1, 3)).toBe(3);
  expect(fields.duration('period')).toBe(90_000);
  expect(fields.texts('names')).toEqual(['x', 'y']);
  expect(fields.part('under')?.number('depth')).toBe(1);
  expect(fields.parts('items')?.map((item) => item.number('at'))).toEqual([0, 1]);
  expect(fields.any('free')).toEqual({ whatever: [1] });
  expect([fields.text('nothing'), fields.part('absent')]).toEqual([undefined, undefined]);
  expect(fields.section('absent').text('x')).toBeUndefined();
  expect(() => fields.end()).not.toThrow();
});

describe('is refused with the path of the field', () => {
  test.each<[string, unknown, (fields: ConfigFields) => unknown, string]>([
    ['a list for the document', [], (fields) => fields, ': must be an object'],
    ['a number for a text', { a: 1 }, (fields) => fields.text('a'), 'a: must be text'],
    ['a text for a flag', { a: 'true' }, (fields) => fields.flag('a'), 'a: must be true or false'],
    ['a fraction', { a: 1.5 }, (fields) => fields.number('a'), 'a: Invalid value: 1.5'],
    ['a number out of bounds', { a: 4 }, (fields) => fields.number('a', 0, 3), 'from 0 to 3'],
    ['another word', { a: 'c' }, (fields) => fields.oneOf('a', ['b']), 'supported values: "b"'],
    ['no duration', { a: 'soon' }, (fields) => fields.duration('a'), 'must be a duration above zero'],
    ['a duration of zero', { a: '0s' }, (fields) => fields.duration('a'), 'a: Invalid value: "0s"'],
    ['a text for a list', { a: 'x' }, (fields) => fields.texts('a'), 'a: must be a list'],
    ['a number in texts', { a: ['x', 1] }, (fields) => fields.texts('a'), 'a[1]: must be text'],
    ['a text for an object', { a: 'x' }, (fields) => fields.part('a'), 'a: must be an object'],
    [
      'what is further in',
      { a: [{ b: { c: 1 } }] },
      (fields) => fields.parts('a')?.[0]?.part('b')?.text('c'),
      'a[0].b.c: must be text',
    ],
  ])('%s', (_, raw, read, message) => {
    expect(() => read(fieldsOf(raw))).toThrow(message);
  });
});

test('a field that nobody asked for is refused, with the nearest of those that were', () => {
  const fields = fieldsOf({ name: 'a', cuont: 3 });
  fields.text('name');
  fields.number('count');
  expect(() => fields.end()).toThrow('cuont: unknown field; did you mean count?');
});

test('members that every object has are no fields', () => {
  expect(fieldsOf({}).any('constructor')).toBeUndefined();
});
