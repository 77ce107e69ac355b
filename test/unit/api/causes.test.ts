// How far a check goes.
import { describe, expect, test } from 'vitest';
import { type Cause, firstCauses, MAX_CAUSES, required } from '../../../src/api/causes.js';

describe('the first causes', () => {
  const check = (count: number, onLook: () => void) => (): Cause[] =>
    Array.from({ length: count }).flatMap((_, index) => {
      onLook();
      return [required(`items[${index}]`)];
    });
  test('are all of a few', () => {
    expect(firstCauses(check(3, () => {})).map(({ field }) => field)).toEqual([
      'items[0]',
      'items[1]',
      'items[2]',
    ]);
  });
  test('end the check: nothing is looked at after them', () => {
    let looks = 0;
    const causes = firstCauses(check(900_000, () => (looks += 1)));
    expect(causes).toHaveLength(MAX_CAUSES);
    expect(causes.at(-1)?.field).toBe(`items[${MAX_CAUSES - 1}]`);
    expect(looks).toBe(MAX_CAUSES);
  });
  test('let other errors through, and the next check counts anew', () => {
    expect(() =>
      firstCauses(() => {
        throw new TypeError('a fault');
      }),
    ).toThrow('a fault');
    expect(firstCauses(check(MAX_CAUSES - 1, () => {}))).toHaveLength(MAX_CAUSES - 1);
    expect(firstCauses(check(MAX_CAUSES - 1, () => {}))).toHaveLength(MAX_CAUSES - 1);
  });
});
