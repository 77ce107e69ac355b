// `$(NAME)` in text.
// Guarantees: each case is one sentence of Kubernetes' rule.
import { expect, test } from 'vitest';
import { expand, expandStrictly } from '../../../../src/kubelet/environment/expansion.js';

const values: Record<string, string> = { A: 'a', EMPTY: '', B: '$(A)', 'with.dot': 'dot' };
const lookup = (name: string) => values[name];

test.each([
  ['a known name', '$(A)', 'a'],
  ['several', '$(A)-$(A)$(A)', 'a-aa'],
  ['an empty value', '[$(EMPTY)]', '[]'],
  ['a value is not expanded again', '$(B)', '$(A)'],
  ['an unknown name stays', '$(NOPE)', '$(NOPE)'],
  ['an escaped reference', '$$(A)', '$(A)'],
  ['two dollars are one', '$$', '$'],
  ['three dollars', '$$$(A)', '$a'],
  ['an escaped escape', '$$$$(A)', '$$(A)'],
  ['a dollar alone', 'a$b', 'a$b'],
  ['a dollar at the end', 'a$', 'a$'],
  ['never closed', '$(A', '$(A'],
  ['no name', '$()', '$()'],
  ['square brackets', '$[A]', '$[A]'],
  ['a name with a dot', '$(with.dot)', 'dot'],
  ['text around', 'x $(A) y', 'x a y'],
])('%s', (_, text, want) => {
  expect(expand(text, lookup)).toBe(want);
});

test('strictly, the names that nobody knew are told', () => {
  expect(expandStrictly('$(A)/$(X)/$$(Y)', lookup)).toEqual({ value: 'a/$(X)/$(Y)', missing: ['X'] });
  expect(expandStrictly('$(A)/$(EMPTY)', lookup)).toEqual({ value: 'a/', missing: ['EMPTY'] });
});
