// Nodes that have a pod's images already start it sooner. Pure.
// Guarantees: an image that few nodes have counts less, so that one node with it does not draw every pod.
import { MAX_SCORE, type Plugin } from '../plugin.js';
import { normalizedImage } from '../snapshot/imageTable.js';

const MEGABYTE = 1024 * 1024;
const LEAST = 23 * MEGABYTE;
const MOST_A_CONTAINER = 1000 * MEGABYTE;

export const imageLocality: Plugin = {
  name: 'ImageLocality',
  wokenBy: [],
  score({ spec }, snapshot) {
    const containers = [...(spec.initContainers ?? []), ...spec.containers];
    const images = containers.flatMap(({ image = '' }) => snapshot.images.of(normalizedImage(image)) ?? []);
    if (images.length === 0) return undefined;
    const nodes = snapshot.nodeCount;
    const most = MOST_A_CONTAINER * containers.length;
    return {
      score(slots, count, out) {
        for (let at = 0; at < count; at += 1) {
          let sum = 0;
          for (const { sizes } of images) {
            const size = sizes.get(slots[at] ?? 0);
            if (size !== undefined) sum += Math.floor(size * (sizes.size / nodes));
          }
          const within = Math.min(Math.max(sum, LEAST), most);
          out[at] = Math.floor((MAX_SCORE * (within - LEAST)) / (most - LEAST));
        }
      },
    };
  },
};
