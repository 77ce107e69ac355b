// The pods that the API binds to this node.
// Guarantees: the source is ready only after a complete first list.
import { PODS } from '../../api/resources.js';
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
