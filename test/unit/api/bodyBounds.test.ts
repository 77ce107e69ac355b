// Bodies that are refused unread, and those at the edge that are not.
import { describe, expect, test } from 'vitest';
import {
  jsonObstacle,
  MAX_DEPTH,
  MAX_VALUES,
  maxValuesOf,
  TOO_DEEP,
  tooMany,
} from '../../../src/api/bodyBounds.js';

const TOO_MANY = tooMany(MAX_VALUES);

const obstacle = (text: string) => jsonObstacle(Buffer.from(text));
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const list = (values: number) => `[${Array(values).fill('0').join(',')}]`;

describe('a body', () => {
  test.each([
    ['of as many levels as Go reads', nested(MAX_DEPTH), undefined],
    ['of one level more', nested(MAX_DEPTH + 1), TOO_DEEP],
    ['of objects in objects', '{"a":'.repeat(MAX_DEPTH + 1), TOO_DEEP],
    ['of open brackets alone', '['.repeat(1_500_000), TOO_DEEP],
    ['of many short lists side by side', `[${Array(MAX_VALUES).fill('[]').join(',')}]`, TOO_MANY],
    ['of as many values as are taken', list(MAX_VALUES), undefined],
    ['of one value more', list(MAX_VALUES + 1), TOO_MANY],
    ['of brackets and commas inside a string', `["${'[{,'.repeat(MAX_VALUES)}"]`, undefined],
    ['of escaped quotes inside a string', `["${'\\"['.repeat(MAX_VALUES)}"]`, undefined],
    [
      'of an escaped backslash before the end of a string',
      `["${'x'.repeat(MAX_DEPTH)}\\\\",${nested(MAX_DEPTH + 1)}]`,
      TOO_DEEP,
    ],
    ['of a string that does not end', `["${'['.repeat(MAX_VALUES)}`, undefined],
  ])('%s', (_, text, want) => {
    expect(obstacle(text)).toBe(want);
  });
});

test('definitions of kinds may be larger than other objects', () => {
  const most = maxValuesOf('customresourcedefinitions');
  expect(most).toBeGreaterThan(100_000);
  expect(maxValuesOf('pods')).toBe(MAX_VALUES);
  expect(maxValuesOf('constructor')).toBe(MAX_VALUES);
  expect(jsonObstacle(Buffer.from(list(most)), most)).toBeUndefined();
  expect(jsonObstacle(Buffer.from(list(most + 1)), most)).toBe(tooMany(most));
});
