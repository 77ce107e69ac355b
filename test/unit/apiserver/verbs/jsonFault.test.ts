// Texts that are no JSON, and what is said of them.
import { expect, test } from 'vitest';
import { jsonFault } from '../../../../src/apiserver/verbs/jsonFault.js';

test.each([
  ['{"kind"', 'unexpected end of JSON input'],
  ['{"a":"b', 'unexpected end of JSON input'],
  ['{', 'unexpected end of JSON input'],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
  ['[1 2]', "invalid character '2' after array element"],
  ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{} x', "invalid character 'x' after top-level value"],
  ['{"a":<}', "invalid character '<' looking for beginning of value"],
])('%s', (text, words) => {
  let said = '';
  try {
    JSON.parse(text);
  } catch (error) {
    said = (error as Error).message;
  }
  expect(jsonFault(text, said)).toBe(words);
});
