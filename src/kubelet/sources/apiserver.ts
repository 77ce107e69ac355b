// What the API tells this node without being asked: the pods that are bound to it, and its own Node.
// Guarantees: the source of pods is ready only after a complete first list.
import type { V1Node } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { NODES, PODS } from '../../api/resources.js';
import type { Informers } from '../../client/informer.js';
import type { PodConfig } from './podConfig.js';

/** Answers the function that stops listening. */
export function followApiserver(informers: Informers, nodeName: string, config: PodConfig): () => void {
  const informer = informers.of(PODS, { fieldSelector: `spec.nodeName=${nodeName}` });
  const stop = informer.on({
    added: (pod) => config.put('api', pod),
    updated: (pod, previous) => {
      // Deleted and made again between two looks: another pod under the same name.
      if (pod.metadata.uid !== previous.metadata.uid) config.remove('api', previous.metadata.uid);
      config.put('api', pod);
    },
    deleted: (pod) => config.remove('api', pod.metadata.uid),
  });
  void informer.synced().then(() => config.markReady('api'));
  return stop;
}

/** Answers the function that stops listening. */
export function followNode(
  informers: Informers,
  nodeName: string,
  heard: (node: Stored<V1Node>) => void,
): () => void {
  const informer = informers.of(NODES, { fieldSelector: `metadata.name=${nodeName}` });
  return informer.on({ added: heard, updated: heard });
}
