// The random end of generated names.
// Guarantees: no vowels and none of the letters that look alike, so that no word arises.
import { randomInt } from 'node:crypto';

const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

/** By randomInt, which draws from a store of random bytes: asking for five of them each time is a call to the system. */
export function randomSuffix(length: number): string {
  let suffix = '';
  while (suffix.length < length) suffix += LETTERS[randomInt(LETTERS.length)];
  return suffix;
}
