// Where the resources are used alike: a node whose CPU is full and whose memory is idle is half wasted. Pure.
import { MAX_SCORE, type Plugin } from '../plugin.js';
import { type ResourceWeight, shareOf } from './allocation.js';

const DEFAULT_RESOURCES: readonly ResourceWeight[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];

export const nodeResourcesBalancedAllocation = ({
  resources = DEFAULT_RESOURCES,
}: {
  resources?: readonly ResourceWeight[];
} = {}): Plugin => ({
  name: 'NodeResourcesBalancedAllocation',
  wokenBy: [],
  score(pod, { table }) {
    // A pod that asks for nothing changes no balance.
    if (resources.every(({ name }) => (pod.requests.get(name) ?? 0) === 0)) return undefined;
    const shares = resources.map(({ name }) => shareOf(table, pod, name, 'requested'));
    return {
      score(slots, count, out) {
        for (let at = 0; at < count; at += 1) {
          const slot = slots[at] ?? 0;
          let sum = 0;
          let squares = 0;
          let parts = 0;
          for (const { counts, all, taken } of shares) {
            const capacity = all(slot);
            if (!counts || capacity === 0) continue;
            const share = Math.min(taken(slot) / capacity, 1);
            sum += share;
            squares += share * share;
            parts += 1;
          }
          const mean = parts === 0 ? 0 : sum / parts;
          // The deviation of two values is exactly half their distance; the sum of squares can be a hair below zero.
          const deviation = parts < 2 ? 0 : Math.sqrt(Math.max(0, squares / parts - mean * mean));
          out[at] = Math.floor((1 - deviation) * MAX_SCORE + 1e-9);
        }
      },
    };
  },
});
