// The native core's benchmarks, by name.
import type { Figure } from '../lib/figure.js';
import { eventLoop } from './eventLoop.js';
import { ipset } from './ipset.js';
import { ipvs } from './ipvs.js';
import { requests } from './requests.js';
import { routes } from './routes.js';
import { verdictMap } from './verdictMap.js';
import { veth } from './veth.js';

export const native: Record<string, () => Promise<Figure[]>> = {
  veth,
  routes,
  ipset,
  verdictMap,
  ipvs,
  eventLoop,
  requests,
};
