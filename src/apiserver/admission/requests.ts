// Helpers by which plugins see which object and operation a request is for. Pure.
// Guarantees: a draft is taken for a kind only when the request's type says so.
import type { Draft } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import type { ResourceType } from '../../api/resources.js';
import type { AdmissionRequest } from '../admission.js';

/** The draft when this request writes the named kind itself (not a subresource) by one of the operations. */
export function draftOf<T extends KubeObject>(
  request: AdmissionRequest,
  type: ResourceType<T>,
  ...operations: readonly AdmissionRequest['operation'][]
): Draft<T> | undefined {
  if (!isAbout(request, type) || request.subresource !== '') return undefined;
  if (!operations.includes(request.operation)) return undefined;
  return request.object as Draft<T> | undefined;
}

export function isAbout(request: AdmissionRequest, { group, resource }: ResourceType): boolean {
  return request.type.group === group && request.type.resource === resource;
}
