// Members whose keys came from outside, and when two values are the same.
import { expect, test } from 'vitest';
import { copyJson, getOwn, isTooDeep, sameJson, setOwn } from '../../../src/api/ownKeys.js';

test('never reaches a prototype', () => {
  const target: Record<string, unknown> = {};
  setOwn(target, '__proto__', { x: 1 });
  expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
  expect(getOwn(target, '__proto__')).toEqual({ x: 1 });
  expect(getOwn({}, 'constructor')).toBeUndefined();
  const copy = copyJson(JSON.parse('{"a":[{"__proto__":{"b":1}}]}') as object);
  expect(JSON.stringify(copy)).toBe('{"a":[{"__proto__":{"b":1}}]}');
});

test.each([
  [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: 1 }, { a: 1, b: '' }, false],
  [{ a: { b: [] } }, {}, false],
  [{ a: 0 }, {}, false],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: [''] }, { a: [] }, false],
  [[], {}, false],
  [{ a: 1 }, { a: '1' }, false],
])('%j and %j: same JSON %s', (left, right, json) => {
  expect(sameJson(left, right)).toBe(json);
});

test('measures depth without recursion', () => {
  const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown;
  expect(isTooDeep(nested(1000))).toBe(false);
  expect(isTooDeep(nested(1001))).toBe(true);
  expect(isTooDeep(nested(50_000))).toBe(true);
});
