// Numbers that parsing changes: named as they were written, where Go would have kept them.
import { expect, test } from 'vitest';
import { inexactNumber } from '../../../src/api/exactNumbers.js';

test.each<[string, string | undefined]>([
  ['9007199254740991', undefined],
  ['9007199254740992', undefined],
  ['9007199254740993', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  ['1000000000000000000', undefined],
  ['1000000000000000001', '1000000000000000001'],
  ['9223372036854775807', '9223372036854775807'],
  ['-9223372036854775808', undefined],
  ['9223372036854775809', undefined],
  ['1e18', undefined],
  ['9007199254740993.0', undefined],
  ['0.1', undefined],
  ['1e400', '1e400'],
  ['-1e400', '-1e400'],
  ['"9007199254740993"', undefined],
])('%s: %s', (literal, wanted) => {
  const json = `{"name 9007199254740993 \\\\\\" 1e999":[true,{"a":${literal}}],"last":1}`;
  expect(inexactNumber(JSON.parse(json), json)).toBe(wanted);
});

test('without the text whatever may have been another number is named', () => {
  expect(inexactNumber(JSON.parse('{"a":[9007199254740993]}'))).toBe('9007199254740992');
  expect(inexactNumber({ a: [2 ** 53 - 1, 2 ** 70, 1.5, '9007199254740993'] })).toBeUndefined();
});
