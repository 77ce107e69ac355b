// Why an address or a port could not be had; the service hooks turn it into an API refusal.

export type AllocationErrorCode = 'BAD_RANGE' | 'OUTSIDE' | 'TAKEN' | 'FULL';

export class AllocationError extends Error {
  override readonly name = 'AllocationError';

  constructor(
    readonly code: AllocationErrorCode,
    message: string,
  ) {
    super(message);
  }
}
