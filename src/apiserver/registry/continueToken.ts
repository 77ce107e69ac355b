// The opaque token that joins the pages of a list: the revision of the first page and the last key sent. Pure.
// Guarantees: a token made elsewhere or tampered with is a 400, never a read outside the listed prefix.
import { statusError } from '../../api/status.js';

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
  if (typeof value !== 'object' || value === null) throw refused();
  const { v, rv, start } = value as Record<string, unknown>;
  if (v !== 'meta.k8s.io/v1' || typeof start !== 'string' || start === '') throw refused();
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv < NEWEST) throw refused();
  if (start.split('/').includes('..') || start.startsWith('/')) throw refused();
  return { revision: rv, after: start };
}

function parse(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
  } catch (cause) {
    throw statusError('BadRequest', 'continue key is not valid', undefined, { cause });
  }
}

const refused = () => statusError('BadRequest', 'continue key is not valid');
