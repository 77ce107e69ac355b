// Where an object lies in the store: /registry/<resource[.group]>/<namespace>/<name>, as in Kubernetes. Pure.
// Guarantees: keys are in the store's order, whatever characters names have.
import type { ResourceType } from '../../api/resources.js';
import { qualifiedResource } from '../../api/status.js';

export const ROOT = '/registry/';

/** A key for each node port that a Service holds: not an object, but it can be made only once. */
export const NODE_PORT_CLAIMS = 'servicenodeports';

export function nodePortKey(port: number): string {
  return `${ROOT}${NODE_PORT_CLAIMS}/${port}`;
}

/** A key for the terms of each lease's holders: not an object either. */
export function termKey(namespace: string, name: string): string {
  return `${ROOT}leaderterms/${namespace}/${name}`;
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

/** In the order of their bytes, which is the store's. */
export function compareKeys(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at += 1) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Halves of pairs are characters beyond 16 bits, whose bytes come after those of all others. */
const rank = (unit: number) => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);
