// What admission plugins must know of other objects, each asked by name.
// Guarantees: an object that was just created is found: a local copy answers first, the store itself when that has nothing.
import type { V1Namespace, V1Node, V1Pod, V1PriorityClass, V1ServiceAccount } from '../../api/gen/types.js';
import { type KubeObject, keyOf, type ObjectName, type Stored } from '../../api/object.js';
import { NAMESPACES, NODES, PODS, type ResourceType, SERVICE_ACCOUNTS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import type { Informers } from '../../client/informer.js';

export type Lookup<T extends KubeObject> = (name: ObjectName) => Promise<Stored<T> | undefined>;

export interface AdmissionLookups {
  readonly namespace: Lookup<V1Namespace>;
  readonly serviceAccount: Lookup<V1ServiceAccount>;
  readonly pod: Lookup<V1Pod>;
  readonly node: Lookup<V1Node>;
  /** Absent while the kind is not served: then only the two built-in classes exist. */
  readonly priorityClass?: Lookup<V1PriorityClass>;
}

export function makeLookups(client: Client, informers?: Informers): AdmissionLookups {
  const lookup = <T extends KubeObject>(type: ResourceType<T>): Lookup<T> => {
    const copy = informers?.of(type);
    return async (name) => {
      const known = copy?.get(keyOf(name));
      if (known !== undefined) return known;
      try {
        return await client.of(type).get(name);
      } catch (error) {
        if (ApiError.is(error, 'NotFound')) return undefined;
        throw error;
      }
    };
  };
  return {
    namespace: lookup(NAMESPACES),
    serviceAccount: lookup(SERVICE_ACCOUNTS),
    pod: lookup(PODS),
    node: lookup(NODES),
  };
}
