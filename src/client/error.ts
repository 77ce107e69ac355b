// What can fail on the way to an apiserver, before the apiserver itself has an opinion (that is ApiError). Pure.
// Guarantees: one class with a closed set of codes; the message names the server or the field, never a secret.
import { CodedError } from '../base/codedError.js';

type ClientErrorCode =
  /** The connection was refused, reset, timed out, or the certificate was not accepted. */
  | 'UNREACHABLE'
  /** The request's signal was aborted. */
  | 'ABORTED'
  /** What came back is not what the API speaks. */
  | 'BAD_ANSWER'
  /** The caller asked for something that has no path, such as an object without a name. */
  | 'BAD_REQUEST'
  /** The kubeconfig, or a file it names, cannot be used. */
  | 'CONFIG'
  | 'CLOSED';

export class ClientError extends CodedError<ClientErrorCode> {
  override readonly name = 'ClientError';

  static is(error: unknown, ...codes: readonly ClientErrorCode[]): error is ClientError {
    return error instanceof ClientError && codes.includes(error.code);
  }
}
