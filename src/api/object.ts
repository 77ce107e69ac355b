// What every API object has in common, and the names by which objects are found. Pure.
// Guarantees: an object that came out of the apiserver is `Stored`: named, versioned, with spec and status present.
import type { V1ObjectMeta, V1OwnerReference } from './gen/types.js';

export interface KubeObject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata?: V1ObjectMeta | undefined;
}

/** The metadata that the apiserver fills in for every object it keeps. */
type StoredMeta = V1ObjectMeta & {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
};

/** An object as the apiserver answers it. Frozen when it comes from an informer: copy to change. */
export type Stored<T> = T & { readonly metadata: StoredMeta } & (T extends { readonly spec?: infer S }
    ? { readonly spec: NonNullable<S> }
    : unknown) &
  (T extends { readonly status?: infer S } ? { readonly status: NonNullable<S> } : unknown);

export interface ObjectName {
  readonly name: string;
  /** Absent or empty for kinds that live outside namespaces. */
  readonly namespace?: string | undefined;
}

/** `namespace/name`, or `name` outside namespaces: the key of caches and work queues. */
export function keyOf({ name, namespace }: ObjectName): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

export function nameOfKey(key: string): ObjectName {
  const slash = key.indexOf('/');
  return slash === -1 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** The owner that manages the object, if one does. */
export function controllerOf(object: KubeObject): V1OwnerReference | undefined {
  return object.metadata?.ownerReferences?.find((owner) => owner.controller === true);
}
