// What each operator of a node selector term takes: values, missing keys, whole numbers and their bounds.
import { expect, test } from 'vitest';
import { meets } from '../../../src/api/nodeSelector.js';

const held = { zone: 'a', cores: '4', words: 'four' };

test.each([
  ['zone', 'In', ['a', 'b'], true],
  ['zone', 'In', ['b'], false],
  ['none', 'In', ['a'], false],
  ['zone', 'NotIn', ['b'], true],
  ['zone', 'NotIn', ['a'], false],
  ['none', 'NotIn', ['a'], true],
  ['zone', 'Exists', [], true],
  ['none', 'Exists', [], false],
  ['toString', 'Exists', [], false],
  ['zone', 'DoesNotExist', [], false],
  ['none', 'DoesNotExist', [], true],
  ['cores', 'Gt', ['3'], true],
  ['cores', 'Gt', ['4'], false],
  ['cores', 'Gt', ['-5'], true],
  ['cores', 'Lt', ['5'], true],
  ['cores', 'Lt', ['4'], false],
  ['cores', 'Lt', ['+5'], true],
  ['cores', 'Lt', ['5x'], false],
  ['cores', 'Lt', ['x5'], false],
  ['cores', 'Lt', [], false],
  ['words', 'Gt', ['3'], false],
  ['none', 'Lt', ['5'], false],
  ['cores', 'Le', ['4'], false],
])('%s %s %j: %j', (key, operator, values, isMet) => {
  expect(meets({ key, operator, values }, held)).toBe(isMet);
});
