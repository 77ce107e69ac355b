// A range of service addresses or node ports that cannot be used.
import { CodedError } from '../../base/codedError.js';

type AllocationErrorCode = 'BAD_RANGE';

export class AllocationError extends CodedError<AllocationErrorCode> {
  override readonly name = 'AllocationError';
}
