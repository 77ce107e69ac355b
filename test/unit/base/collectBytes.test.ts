import { describe, expect, test } from 'vitest';
import { collectBytes } from '../../../src/base/collectBytes.js';

const bound = { most: 4, tooLarge: (most: number) => new RangeError(`more than ${most}`) };
const parts = (...texts: string[]) => texts.map((text) => Buffer.from(text));

describe('collecting bytes', () => {
  test('joins the parts, up to the bound', async () => {
    expect((await collectBytes(parts('ab', 'cd'), bound)).toString()).toBe('abcd');
    expect(await collectBytes([], bound)).toHaveLength(0);
  });

  test('throws for a part that exceeds the bound, and asks for no further one', async () => {
    let asked = 0;
    async function* endless() {
      for (;;) {
        asked += 1;
        yield Buffer.from('abc');
      }
    }
    await expect(collectBytes(endless(), bound)).rejects.toThrow(new RangeError('more than 4'));
    expect(asked).toBe(2);
  });
});
