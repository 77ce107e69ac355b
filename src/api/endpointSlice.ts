// Which Service an EndpointSlice belongs to. Pure.
import type { V1EndpointSlice } from './gen/types.js';
import { keyOf, type Stored } from './object.js';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** The key of the Service; one that exists nowhere when the slice names none. */
export function serviceKeyOf({ metadata }: Stored<V1EndpointSlice>): string {
  return keyOf({ namespace: metadata.namespace, name: metadata.labels?.[SERVICE_NAME_LABEL] ?? '' });
}
