// How admission plugins read other objects: one by name, or all of a kind.
// Guarantees: an object that was just created is found by name: a local copy answers first, the store itself when that has nothing.
import type * as k from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { type KubeObject, keyOf, type ObjectName, type Stored } from '../../api/object.js';
import {
  CSI_DRIVERS,
  INGRESS_CLASSES,
  LIMIT_RANGES,
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  PRIORITY_CLASSES,
  RESOURCE_QUOTAS,
  type ResourceType,
  RUNTIME_CLASSES,
  SECRETS,
  SERVICE_ACCOUNTS,
  STORAGE_CLASSES,
} from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import type { Informers } from '../../client/informer.js';
import { placedPods } from '../auth/placedPods.js';

type Lookup<T extends KubeObject> = (name: ObjectName) => Promise<Stored<T> | undefined>;
/** What the local copy holds now. */
type Held<T extends KubeObject> = () => readonly Stored<T>[];
type HeldIn<T extends KubeObject> = (namespace: string) => readonly Stored<T>[];

/** A kind that is not served has no objects. */
export interface AdmissionLookups {
  readonly namespace: Lookup<k.V1Namespace>;
  readonly serviceAccount: Lookup<k.V1ServiceAccount>;
  /** Never from a copy: pods are many, and few questions are about the whole of one. */
  readonly pod: Lookup<k.V1Pod>;
  /** No more of a pod than who it is and where. */
  readonly placedPod: Lookup<KubeObject>;
  readonly node: Lookup<k.V1Node>;
  /** Never from a copy: the server's memory is no place to keep all Secrets twice. */
  readonly secret: Lookup<k.V1Secret>;
  readonly priorityClass: Lookup<k.V1PriorityClass>;
  readonly runtimeClass: Lookup<k.V1RuntimeClass>;
  readonly priorityClasses: Held<k.V1PriorityClass>;
  readonly storageClasses: Held<k.V1StorageClass>;
  readonly ingressClasses: Held<k.V1IngressClass>;
  readonly limitRanges: HeldIn<k.V1LimitRange>;
  readonly resourceQuotas: HeldIn<k.V1ResourceQuota>;
  readonly claim: Lookup<k.V1PersistentVolumeClaim>;
  readonly volume: Lookup<k.V1PersistentVolume>;
  readonly csiDriver: Lookup<k.V1CSIDriver>;
  readonly podsOf: (namespace: string) => Promise<readonly Stored<k.V1Pod>[]>;
}

const BY_NAMESPACE = 'admission.namespace';

export function makeLookups(options: {
  readonly client: Client;
  readonly informers: Informers;
  readonly kinds: readonly KindDefinition[];
}): AdmissionLookups {
  const { client, informers, kinds } = options;
  const isServed = ({ group, resource }: ResourceType) =>
    kinds.some(({ type }) => type.group === group && type.resource === resource);

  const read = async <T extends KubeObject>(type: ResourceType<T>, name: ObjectName) => {
    try {
      return await client.of(type).get(name);
    } catch (error) {
      if (ApiError.is(error, 'NotFound')) return undefined;
      throw error;
    }
  };
  const lookup = <T extends KubeObject>(type: ResourceType<T>): Lookup<T> => {
    if (!isServed(type)) return async () => undefined;
    const copy = informers.of(type);
    return async (name) => copy.get(keyOf(name)) ?? read(type, name);
  };
  /** Asked rarely: a copy would cost more than it saves. */
  const direct =
    <T extends KubeObject>(type: ResourceType<T>): Lookup<T> =>
    async (name) =>
      isServed(type) ? read(type, name) : undefined;
  const held = <T extends KubeObject>(type: ResourceType<T>): Held<T> => {
    if (!isServed(type)) return () => [];
    const copy = informers.of(type);
    return () => copy.list();
  };
  const heldIn = <T extends KubeObject>(type: ResourceType<T>): HeldIn<T> => {
    if (!isServed(type)) return () => [];
    const copy = informers.of(type);
    copy.index(BY_NAMESPACE, ({ metadata: { namespace = '' } }) => [namespace]);
    return (namespace) => copy.byIndex(BY_NAMESPACE, namespace);
  };
  const placed = isServed(PODS) ? placedPods(informers) : undefined;

  return {
    namespace: lookup(NAMESPACES),
    serviceAccount: lookup(SERVICE_ACCOUNTS),
    pod: (name) => read(PODS, name),
    placedPod: async (name) => placed?.get(keyOf(name)) ?? (await read(PODS, name)),
    node: lookup(NODES),
    secret: (name) => read(SECRETS, name),
    priorityClass: lookup(PRIORITY_CLASSES),
    runtimeClass: lookup(RUNTIME_CLASSES),
    priorityClasses: held(PRIORITY_CLASSES),
    storageClasses: held(STORAGE_CLASSES),
    ingressClasses: held(INGRESS_CLASSES),
    limitRanges: heldIn(LIMIT_RANGES),
    resourceQuotas: heldIn(RESOURCE_QUOTAS),
    claim: direct(PERSISTENT_VOLUME_CLAIMS),
    volume: direct(PERSISTENT_VOLUMES),
    csiDriver: direct(CSI_DRIVERS),
    podsOf: async (namespace) => (isServed(PODS) ? (await client.of(PODS).list({ namespace })).items : []),
  };
}
