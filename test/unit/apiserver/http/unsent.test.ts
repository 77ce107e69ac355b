// Whole answers that nobody reads: bounded together, and the one that stalls longest goes first.
import { expect, test } from 'vitest';
import { Unsent } from '../../../../src/apiserver/http/unsent.js';

test('beyond the bound, who has taken nothing for the longest time is cut off', () => {
  const unsent = new Unsent(100);
  const cut: string[] = [];
  const first = unsent.add(40, () => cut.push('first'));
  unsent.add(40, () => cut.push('second'));
  first.progressed();
  unsent.add(40, () => cut.push('third'));
  expect([cut, unsent.bytes]).toEqual([['second'], 80]);
  first.done();
  first.done();
  expect(unsent.bytes).toBe(40);
});

test('an answer larger than the bound is sent, when it is the only one', () => {
  const unsent = new Unsent(100);
  const cut: string[] = [];
  unsent.add(10, () => cut.push('small'));
  const large = unsent.add(1000, () => cut.push('large'));
  expect(cut).toEqual(['small']);
  large.done();
  expect(unsent.bytes).toBe(0);
});
