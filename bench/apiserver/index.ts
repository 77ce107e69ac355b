// The apiserver's benchmarks, by name.
import type { Figure } from '../lib/figure.js';
import { crd } from './crd.js';
import { creates } from './creates.js';
import { memory } from './memory.js';
import { reads } from './reads.js';
import { services } from './services.js';
import { watchers } from './watchers.js';

export const apiserver: Record<string, () => Promise<Figure[]>> = {
  creates,
  services,
  reads,
  watchers,
  memory,
  crd,
};
