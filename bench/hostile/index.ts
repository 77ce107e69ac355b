// What one ordinary user can make the servers do at worst, by name.
import type { Figure } from '../lib/figure.js';
import { agent } from './agent.js';
import { memory } from './memory.js';
import { stall } from './stall.js';

export const hostile: Record<string, () => Promise<Figure[]>> = { memory, stall, agent };
