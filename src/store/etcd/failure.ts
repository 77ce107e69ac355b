// What etcd and gRPC say when something is refused, as errors of the store. Pure.
// Guarantees: every failure has a code of the store and names the endpoint; the cause is kept.
import { type ServiceError, status } from '@grpc/grpc-js';
import { StoreError } from '../store.js';

/** Another endpoint, or the same a little later, may answer. */
export function isPassing({ code }: ServiceError): boolean {
  return code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED || code === status.CANCELLED;
}

export function storeErrorOf(error: ServiceError, endpoint: string): StoreError {
  const { code, details } = error;
  // Both come as OUT_OF_RANGE, and only the sentence tells them apart.
  if (code === status.OUT_OF_RANGE && details.includes('compacted')) {
    return new StoreError('COMPACTED', 'the revision is no longer kept by etcd', { cause: error });
  }
  if (code === status.OUT_OF_RANGE && details.includes('future')) {
    return new StoreError('FUTURE', 'the revision is yet to come', { cause: error });
  }
  // Beyond another bound it is not even read: that is told by gRPC, as is that the disk is full.
  const isUnread = code === status.RESOURCE_EXHAUSTED && details.includes('larger than max');
  if (isUnread || (code === status.INVALID_ARGUMENT && details.includes('too large'))) {
    return new StoreError('TOO_LARGE', details, { cause: error });
  }
  return new StoreError('UNAVAILABLE', `${wordsFor(code, endpoint)}: ${reason(details)}`, { cause: error });
}

function wordsFor(code: status, endpoint: string): string {
  if (code === status.UNAVAILABLE) return `etcd at ${endpoint} cannot be reached`;
  if (code === status.DEADLINE_EXCEEDED) return `etcd at ${endpoint} does not answer in time`;
  if (code === status.PERMISSION_DENIED || code === status.UNAUTHENTICATED)
    return `etcd at ${endpoint} does not let us in`;
  return `etcd at ${endpoint} refuses`;
}

/** gRPC repeats itself: what matters comes after "Last error". */
function reason(details: string): string {
  const last = /Last error: (.*?)(?:\. Resolution note:.*)?$/.exec(details)?.[1];
  return (last ?? details).replace(/^Error: /, '').trim() || 'no reason was given';
}
