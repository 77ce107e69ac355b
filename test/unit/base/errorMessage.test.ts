import { expect, test } from 'vitest';
import { messageOf } from '../../../src/base/errorMessage.js';

test.each([
  [new Error('no room'), 'no room'],
  [new TypeError(''), ''],
  ['a word', 'a word'],
  [undefined, 'undefined'],
  [7, '7'],
])('%s says %s', (thrown, expected) => {
  expect(messageOf(thrown)).toBe(expected);
});
