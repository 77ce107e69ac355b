// Bootstrap tokens as their Secrets tell them, and signatures by them. Pure.
// Guarantees: a token that has expired or cannot be read signs nothing.
import { createHmac } from 'node:crypto';
import type { V1Secret } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { timeOf } from '../pods.js';

export const TOKEN_NAMESPACE = 'kube-system';
export const TOKEN_TYPE = 'bootstrap.kubernetes.io/token';
export const TOKENS = { namespace: TOKEN_NAMESPACE, fieldSelector: `type=${TOKEN_TYPE}` };
const PREFIX = 'bootstrap-token-';

export type TokenSecret = Stored<V1Secret>;

const textOf = ({ data = {} }: TokenSecret, key: string) => Buffer.from(data[key] ?? '', 'base64').toString();

/** When it ends; undefined for one that does not. A time that cannot be read is one that has passed. */
export function expiryOf(secret: TokenSecret): number | undefined {
  const text = textOf(secret, 'expiration');
  return text === '' ? undefined : (timeOf(text) ?? 0);
}

export interface SigningToken {
  readonly id: string;
  readonly secret: string;
}

/** The token if it may sign now. */
export function signingTokenOf(token: TokenSecret, now: number): SigningToken | undefined {
  const [id, secret] = [textOf(token, 'token-id'), textOf(token, 'token-secret')];
  if (token.type !== TOKEN_TYPE || token.metadata.name !== `${PREFIX}${id}`) return undefined;
  if (id === '' || secret === '' || textOf(token, 'usage-bootstrap-signing') !== 'true') return undefined;
  if (token.metadata.deletionTimestamp !== undefined || (expiryOf(token) ?? Infinity) <= now)
    return undefined;
  return { id, secret };
}

/** A JWS whose payload is left out: whoever has the token has the content too, and can tell that it is the right one. */
export function detachedSignature(content: string, { id, secret }: SigningToken): string {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url');
  const payload = Buffer.from(content).toString('base64url');
  const signature = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url');
  return `${header}..${signature}`;
}
