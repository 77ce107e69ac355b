// Places in JSON text.
// Guarantees: every mistake is found where it is, and fields are found where their values begin.
import { describe, expect, test } from 'vitest';
import { canonical, JsonSyntaxError, parseJson, pathText, placeOf } from '../../../src/cni/json.js';

function failure(text: string): string {
  try {
    parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return `${error.place.line}:${error.place.column} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

describe('a mistake is told with its place', () => {
  test.each([
    ['nothing', '', '1:1 the text ends too early'],
    ['a comma too many in an object', '{\n  "a": 1,\n}', '3:1 expected no comma before }, found "}"'],
    ['a comma too many in a list', '[1,\n 2,]', '2:4 expected a value, found "]"'],
    ['a comma left out', '{"a": 1\n "b": 2}', '2:2 expected "," or "}", found "\\""'],
    ['a colon left out', '{"a" 1}', '1:6 expected ":" after the key, found "1"'],
    ['a key without quotes', '{a: 1}', '1:2 expected a key in quotes, found "a"'],
    ['single quotes', "{'a': 1}", '1:2 expected a key in quotes, found "\'"'],
    ['a word that is no value', '{"a": yes}', '1:7 expected a value, found "y"'],
    ['a comment', '{\n // no\n}', '2:2 expected a key in quotes, found "/"'],
    ['a text left open', '{"a": "b\n}', '1:9 the text in quotes is not closed on its line'],
    ['an unknown escape', '{"a": "\\x"}', '1:8 an unknown escape in the text'],
    ['an object left open', '{"a": {"b": 1}', '1:15 expected "," or "}", found the end'],
    ['a list left open', '[1', '1:3 expected "," or "]", found the end'],
    ['something behind the end', '{} {}', '1:4 something follows the end of the value'],
    ['a number with a leading zero', '{"a": 01}', '1:8 expected "," or "}", found "1"'],
    ['a byte order mark', '\ufeff{}', '1:1 expected a value, found a byte order mark'],
  ])('%s', (_, text, expected) => {
    expect(failure(text)).toBe(expected);
  });

  test('text nested beyond reason', () => {
    expect(failure('['.repeat(100_000))).toBe('1:1002 nested too deeply');
  });

  test('in a long text with escapes', () => {
    expect(failure(`{"a": "${'\\n\\u00e9x'.repeat(200_000)}", }`)).toMatch(/^1:\d+ expected no comma/);
  });
});

test.each(['{"a":[1,-0.5e+3,"\\u0041\\"",true,false,null,{}]}', ' [ ] ', '"x"', '0'])(
  '%s is accepted',
  (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  },
);

const TEXT =
  '{\n  "name": "n",\n  "plugins": [\n    {"type": "a"},\n    {"type": "b",\n     "ipam": {"type": 1}}\n  ]\n}';

test.each([
  [[], '1:1'],
  [['name'], '2:11'],
  [['plugins', 1], '5:5'],
  [['plugins', 1, 'type'], '5:14'],
  [['plugins', 1, 'ipam', 'type'], '6:23'],
  [['plugins', 0, 'ipam', 'type'], '4:5'],
  [['missing'], '1:1'],
])('the place of %j is %s', (path, expected) => {
  const { line, column } = placeOf(TEXT, path);
  expect(`${line}:${column}`).toBe(expected);
});

test('paths are written as people write them', () => {
  expect(pathText(['plugins', 0, 'ipam', 'type'])).toBe('plugins[0].ipam.type');
});

test('equal values have one text', () => {
  expect(canonical({ b: [{ y: 1, x: 2 }], a: null })).toBe('{"a":null,"b":[{"x":2,"y":1}]}');
});
