// What the garbage collector keeps of an object: who it is and whom it belongs to.
// Guarantees: kinds that other controllers hold whole are not held a second time.
import type { KubeObject, Stored } from '../../api/object.js';
import * as held from '../../api/resources.js';
import type { InformerOptions } from '../../client/informer.js';

/** Watched by other controllers anyway, and many: a copy of their metadata would be one more. */
const HELD_WHOLE: ReadonlySet<string> = new Set(
  [
    ...[held.PODS, held.NODES, held.SERVICES, held.ENDPOINTS, held.ENDPOINT_SLICES, held.NAMESPACES],
    ...[held.DEPLOYMENTS, held.REPLICA_SETS, held.REPLICATION_CONTROLLERS, held.STATEFUL_SETS],
    ...[held.DAEMON_SETS, held.JOBS, held.CRON_JOBS, held.CONTROLLER_REVISIONS],
    ...[held.PERSISTENT_VOLUMES, held.PERSISTENT_VOLUME_CLAIMS],
  ].map(({ group, resource }) => `${resource}.${group}`),
);

export function collectorOptions({ group, resource }: held.ResourceType): InformerOptions {
  return HELD_WHOLE.has(`${resource}.${group}`) ? {} : { keep: ownership };
}

function ownership({ metadata }: Stored<KubeObject>): Stored<KubeObject> {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { deletionTimestamp, finalizers, ownerReferences } = metadata;
  return {
    metadata: {
      ...{ name, uid, resourceVersion, creationTimestamp },
      ...(namespace === undefined ? {} : { namespace }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
  };
}
