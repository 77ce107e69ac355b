// The one refusal of authentication. It never says why: a guesser learns nothing from it.
import { type ApiError, statusError } from '../../api/status.js';

/** `cause` is for the server's own log. */
export function unauthorized(cause?: unknown): ApiError {
  return statusError('Unauthorized', 'Unauthorized', undefined, { cause });
}

/** The token of `Authorization: Bearer <token>`, or undefined for any other header. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  return token;
}
