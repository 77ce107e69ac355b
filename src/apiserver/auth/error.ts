// What can be wrong with the files that authentication is configured by.
// Guarantees: messages name the file's line or the key's fault, never its content.

type AuthConfigErrorCode = 'TOKEN_FILE' | 'BASIC_AUTH_FILE' | 'POLICY_FILE' | 'SIGNING_KEY';

export class AuthConfigError extends Error {
  override readonly name = 'AuthConfigError';

  constructor(
    readonly code: AuthConfigErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
