// Objects that were parsed a moment ago: once for all who look, and never more than the bound.
import { expect, test } from 'vitest';
import { ParsedObjects } from '../../../../src/apiserver/registry/parsedObjects.js';

function parsable(size: number) {
  const one = {
    size,
    parses: 0,
    parseWithoutManagers: () => {
      one.parses += 1;
      return { metadata: { name: `${one.parses}` } };
    },
  };
  return one;
}

test('an object is parsed once for all who look at it', () => {
  const parsed = new ParsedObjects();
  const object = parsable(10);
  expect(parsed.of(object)).toBe(parsed.of(object));
  expect(object.parses).toBe(1);
});

test('the oldest go when the bytes are too many, and are parsed again', () => {
  const parsed = new ParsedObjects(100);
  const [first, second, third] = [parsable(40), parsable(40), parsable(40)];
  for (const object of [first, second, third]) parsed.of(object);
  expect(parsed.bytes).toBe(80);
  for (const object of [second, third, first]) parsed.of(object);
  expect([first.parses, second.parses, third.parses]).toEqual([2, 1, 1]);
});

test('one that is larger than the bound is kept alone, until the next one comes', () => {
  const parsed = new ParsedObjects(100);
  const large = parsable(1000);
  parsed.of(parsable(40));
  parsed.of(large);
  parsed.of(large);
  expect([large.parses, parsed.bytes]).toEqual([1, 1000]);
  parsed.of(parsable(40));
  expect(parsed.bytes).toBe(40);
});

test('many small ones are bounded by their number', () => {
  const parsed = new ParsedObjects();
  for (let i = 0; i < 1000; i += 1) parsed.of(parsable(1));
  expect(parsed.bytes).toBe(256);
});
