// Members named twice in a JSON text.
import { expect, test } from 'vitest';
import { duplicateFields } from '../../../src/api/duplicateFields.js';

const duplicatesOf = (text: string) => duplicateFields(text, JSON.parse(text));

test.each<[string, string[]]>([
  ['{"a":1,"b":{"a":2}}', []],
  ['{"a":1,"a":2}', ['a']],
  ['{"spec":{"list":[{"x":1},{"y":[1,2],"y":{}}]}}', ['spec.list[1].y']],
  ['{"a":"a\\"","b":"{\\"a\\":1,\\"a\\":2}"}', []],
  ['{"a":1,"\\u0061":2}', ['a']],
  ['{"a":"\\\\","a":","}', ['a']],
  ['[{"a":1},{"a":1}]', []],
  ['"text"', []],
])('in %s', (text, paths) => {
  expect(duplicatesOf(text)).toEqual(paths);
});

test('in an object of many names, early and late', () => {
  const names = Array.from({ length: 40 }, (_, i) => `n${i}`);
  const text = [...names, 'n3', 'n15', 'n16', 'n39'].map((name) => `"${name}":1`).join(',');
  expect(duplicatesOf(`{${text}}`)).toEqual(['n3', 'n15', 'n16', 'n39']);
});

test('stays quick and small on hostile texts', () => {
  expect(duplicatesOf(`{${'"a":1,'.repeat(300_000)}"a":1}`)).toHaveLength(100);
  const names = Array.from({ length: 200_000 }, (_, i) => `"n${i}":1`);
  expect(duplicatesOf(`{${names.join(',')}}`)).toEqual([]);
  expect(duplicatesOf('['.repeat(500_000) + ']'.repeat(500_000))).toEqual([]);
  expect(duplicatesOf(`{"a":"${'\\\\'.repeat(500_000)}"}`)).toEqual([]);
});
