// What can be wrong with the files that authentication is configured by.
// Guarantees: messages name the file's line or the key's fault, never its content.
import { CodedError } from '../../base/codedError.js';

type AuthConfigErrorCode = 'TOKEN_FILE' | 'BASIC_AUTH_FILE' | 'POLICY_FILE' | 'SIGNING_KEY';

export class AuthConfigError extends CodedError<AuthConfigErrorCode> {
  override readonly name = 'AuthConfigError';
}
