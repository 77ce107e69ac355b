// Where an object lies in the store: /registry/<resource[.group]>/<namespace>/<name>, as in Kubernetes. Pure.
import type { ResourceType } from '../../api/resources.js';
import { qualifiedResource } from '../../api/status.js';

export const ROOT = '/registry/';

/** A key for each node port that a Service holds: not an object, but it can be made only once. */
export const NODE_PORT_CLAIMS = 'servicenodeports';

export function nodePortKey(port: number): string {
  return `${ROOT}${NODE_PORT_CLAIMS}/${port}`;
}

export function resourcePrefix(type: ResourceType): string {
  return `${ROOT}${qualifiedResource(type)}/`;
}

/** The keys of one namespace, or of all when it is empty. */
export function listPrefix(type: ResourceType, namespace: string): string {
  return type.namespaced && namespace !== '' ? `${resourcePrefix(type)}${namespace}/` : resourcePrefix(type);
}

export function objectKey(type: ResourceType, namespace: string, name: string): string {
  return `${listPrefix(type, namespace)}${name}`;
}

/** `pods` or `deployments.apps` of a key; undefined for keys that are not objects. */
export function resourceOfKey(key: string): string | undefined {
  if (!key.startsWith(ROOT)) return undefined;
  const end = key.indexOf('/', ROOT.length);
  return end === -1 ? undefined : key.slice(ROOT.length, end);
}
