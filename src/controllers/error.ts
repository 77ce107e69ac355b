// What can be wrong with how controllers are asked to run, by code.
// Guarantees: thrown before any controller starts.
import { CodedError } from '../base/codedError.js';

type ControllersErrorCode = 'UNKNOWN_CONTROLLER' | 'NO_CONTROLLER' | 'BAD_CLUSTER_CIDR';

export class ControllersError extends CodedError<ControllersErrorCode> {
  override readonly name = 'ControllersError';
}
