// The benchmarks of the CNI plugins, by name.
import type { Figure } from '../lib/figure.js';
import { add, atOnce, del } from './calls.js';
import { executable, memory } from './size.js';

export const cni: Record<string, () => Promise<Figure[]>> = { add, del, atOnce, memory, executable };
