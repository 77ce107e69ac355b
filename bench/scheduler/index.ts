// The scheduler's benchmarks, by name.
import type { Figure } from '../lib/figure.js';
import { CASES } from './cases.js';
import { memory } from './memory.js';
import { runCase } from './run.js';

export const scheduler: Record<string, () => Promise<Figure[]>> = {
  ...Object.fromEntries(
    CASES.map((one) => [
      one.name.replaceAll(/[ -]+(\w)/g, (_, letter: string) => letter.toUpperCase()),
      () => runCase(one),
    ]),
  ),
  memory,
};
