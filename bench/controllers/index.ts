// The controllers' benchmarks, by name.
import type { Figure } from '../lib/figure.js';
import { deployment } from './deployment.js';
import { idle } from './idle.js';
import { namespace } from './namespace.js';
import { services } from './services.js';

export const controllers: Record<string, () => Promise<Figure[]>> = { deployment, services, namespace, idle };
