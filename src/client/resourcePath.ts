// Where a resource lives on an apiserver: paths and queries. Pure.
// Guarantees: a name is always one path segment; an object without a name has no path and is refused.

import type { ObjectName } from '../api/object.js';
import { apiVersionOf, type ResourceType } from '../api/resources.js';
import type { ListQuery, WriteOptions } from './client.js';
import { ClientError } from './error.js';

type Query = readonly (readonly [string, string | number | boolean | undefined])[];

/** `/api/v1/namespaces/default/pods`; all namespaces when none is given. */
export function collectionPath(type: ResourceType, namespace?: string): string {
  const root = type.group === '' ? `/api/${type.version}` : `/apis/${apiVersionOf(type)}`;
  const scope =
    type.namespaced && namespace !== undefined && namespace !== ''
      ? `/namespaces/${encodeURIComponent(namespace)}`
      : '';
  return `${root}${scope}/${type.resource}`;
}

export function objectPath(
  type: ResourceType,
  { name, namespace }: ObjectName,
  subresource?: string,
): string {
  if (name === '') throw new ClientError('BAD_REQUEST', `a ${type.kind} must be named`);
  const path = `${creationPath(type, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** The collection an object is created in: a namespaced kind needs its namespace. */
export function creationPath(type: ResourceType, namespace?: string): string {
  if (type.namespaced && (namespace === undefined || namespace === '')) {
    throw new ClientError('BAD_REQUEST', `a ${type.kind} lives in a namespace, and none was given`);
  }
  return collectionPath(type, namespace);
}

export function withQuery(path: string, query: Query): string {
  const parts = query.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

export function selectorQuery({ labelSelector, fieldSelector }: ListQuery): Query {
  return [
    ['labelSelector', labelSelector],
    ['fieldSelector', fieldSelector],
  ];
}

export function writeQuery({ fieldManager, dryRun, force }: WriteOptions): Query {
  return [
    ['fieldManager', fieldManager],
    ['dryRun', dryRun === true ? 'All' : undefined],
    ['force', force],
  ];
}
