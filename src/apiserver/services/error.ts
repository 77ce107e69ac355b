// A range of service addresses or node ports that cannot be used.

type AllocationErrorCode = 'BAD_RANGE';

export class AllocationError extends Error {
  override readonly name = 'AllocationError';

  constructor(
    readonly code: AllocationErrorCode,
    message: string,
  ) {
    super(message);
  }
}
