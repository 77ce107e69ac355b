// Pods that claim devices: nobody allocates them here, so such a pod waits instead of running without. Pure.
import { type Plugin, simpleFilter } from '../plugin.js';

export const dynamicResources: Plugin = {
  name: 'DynamicResources',
  wokenBy: [],
  filter({ spec }) {
    if ((spec.resourceClaims ?? []).length === 0) return undefined;
    return simpleFilter(() => true, 'cannot allocate all claims', { final: true });
  },
  helps: () => false,
};
