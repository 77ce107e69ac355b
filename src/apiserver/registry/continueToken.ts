// The opaque token that joins the pages of a list: the revision of the first page and the last key sent. Pure.
// Guarantees: a token made elsewhere or tampered with is a 400, never a read outside the listed prefix.
import { type ApiError, statusError } from '../../api/status.js';

/** In a token: the pages that follow are of the newest state, whatever the first were of. */
export const NEWEST = -1;

export interface ContinueToken {
  readonly revision: number;
  /** The last key of the page, without the list's prefix. */
  readonly after: string;
}

export function encodeContinue({ revision, after }: ContinueToken): string {
  const text = JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start: after });
  return Buffer.from(text).toString('base64url');
}

export function decodeContinue(token: string): ContinueToken {
  const value = parse(token);
  if (typeof value !== 'object' || value === null) throw invalidToken();
  const { v, rv, start } = value as Record<string, unknown>;
  if (v !== 'meta.k8s.io/v1' || typeof start !== 'string' || !isClean(start)) throw invalidToken();
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv < NEWEST || rv === 0) throw invalidToken();
  return { revision: rv, after: start };
}

/** A key below the prefix, in its one form. */
function isClean(key: string): boolean {
  return key.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

function parse(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch (cause) {
    throw invalidToken(cause);
  }
}

export function invalidToken(cause?: unknown): ApiError {
  return statusError('BadRequest', 'invalid continue token: continue key is not valid', undefined, { cause });
}
