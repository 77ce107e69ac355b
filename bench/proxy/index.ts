// The comparison of proxy modes, by where it runs.
import type { Figure } from '../lib/figure.js';
import { host } from './host.js';
import { vm } from './vm.js';

export const proxy: Record<string, () => Promise<Figure[]>> = { host, vm };
