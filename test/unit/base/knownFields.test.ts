import { describe, expect, test } from 'vitest';
import { knownFields } from '../../../src/base/knownFields.js';

const read = (document: object) => [
  ...knownFields(document, {
    read: new Set(['mode', 'logging.format', 'logging.verbosity']),
    fixed: { profiling: [false], swap: [{}], 'swap.behaviour': ['', 'none'], 'logging.flush': [0, '5s'] },
    isSame: (left, right) => JSON.stringify(left) === JSON.stringify(right),
    refuse: (path, why) => new Error(`${path}: ${why}`),
    unknown: (path, meant) => new Error(`no field ${path}${meant}`),
  }),
];

test('answers what is read by its path, and nothing of what says what is done anyway', () => {
  expect(
    read({
      mode: 'fast',
      profiling: false,
      swap: {},
      logging: { format: 'json', verbosity: null, flush: '5s' },
    }),
  ).toEqual([
    ['mode', 'fast'],
    ['logging.format', 'json'],
  ]);
  expect(read({ swap: { behaviour: 'none' }, profiling: null, logging: null })).toEqual([]);
});

describe('is refused', () => {
  test.each([
    ['a field that there is not', { color: 'red' }, 'no field color'],
    ['a misspelt one', { moed: 'x' }, 'no field moed; did you mean mode?'],
    [
      'a misspelt one further in',
      { logging: { fromat: 'x' } },
      'no field logging.fromat; did you mean logging.format?',
    ],
    ['one that says nothing', { color: null }, 'no field color'],
    ['another way', { profiling: true }, 'profiling: true is not supported; leave it out, or say false'],
    ['another way further in', { swap: { behaviour: 'all' } }, 'say "" or "none"'],
    ['a text where there are fields', { logging: 'json' }, 'logging: is not an object'],
    ['a list where there are fields', { swap: [] }, 'swap: is not an object'],
  ])('%s', (_, document, message) => {
    expect(() => read(document)).toThrow(message);
  });
});
