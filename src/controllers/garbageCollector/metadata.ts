// What the garbage collector asks for and keeps of an object: who it is and whom it belongs to.
// Guarantees: kinds that other controllers hold whole are not held a second time; of others no more than metadata is sent.
import type { KubeObject, Stored } from '../../api/object.js';
import * as held from '../../api/resources.js';
import type { InformerOptions } from '../../client/informer.js';

/** Watched by other controllers anyway: a copy of their metadata would be one more, and its watch another. */
const HELD_WHOLE: ReadonlySet<string> = new Set(
  [
    held.PODS,
    held.NODES,
    held.SERVICES,
    held.ENDPOINTS,
    held.ENDPOINT_SLICES,
    held.NAMESPACES,
    held.DEPLOYMENTS,
    held.REPLICA_SETS,
    held.REPLICATION_CONTROLLERS,
    held.STATEFUL_SETS,
    held.DAEMON_SETS,
    held.JOBS,
    held.CRON_JOBS,
    held.CONTROLLER_REVISIONS,
    held.PERSISTENT_VOLUMES,
    held.PERSISTENT_VOLUME_CLAIMS,
    held.STORAGE_CLASSES,
    held.IP_ADDRESSES,
    held.SERVICE_CIDRS,
    held.SERVICE_ACCOUNTS,
    held.CLUSTER_ROLES,
    held.CERTIFICATE_SIGNING_REQUESTS,
    held.RESOURCE_QUOTAS,
    held.POD_DISRUPTION_BUDGETS,
    held.HORIZONTAL_POD_AUTOSCALERS,
  ].map(({ group, resource }) => `${resource}.${group}`),
);

export function collectorOptions({ group, resource }: held.ResourceType): InformerOptions {
  if (HELD_WHOLE.has(`${resource}.${group}`)) return {};
  // A lease is hardly more than its metadata, and changes too often for the server to cut it down each time.
  const isLease = group === held.LEASES.group && resource === held.LEASES.resource;
  return { metadataOnly: !isLease, keep: ownership };
}

function ownership({ metadata }: Stored<KubeObject>): Stored<KubeObject> {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const { deletionTimestamp, finalizers, ownerReferences } = metadata;
  return {
    metadata: {
      name,
      uid,
      resourceVersion,
      creationTimestamp,
      ...(namespace === undefined ? {} : { namespace }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
  };
}
