// Bootstrap tokens in kubeadm's form: `abcdef.0123456789abcdef`, kept as Secrets of kube-system. Pure but for chance.
// Guarantees: a token that is made cannot be guessed; a secret part is in no message.
import { randomInt } from 'node:crypto';
import type { V1Secret } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { TOKEN_NAMESPACE, TOKEN_TYPE } from '../../controllers/bootstrapTokens/tokens.js';
import { ClusterError } from '../error.js';

export interface JoinToken {
  readonly id: string;
  readonly secret: string;
}

/** The environment's way to hand a token to a process. */
export const TOKEN_VARIABLE = 'TRELLIS_TOKEN';

/** The group of kubeadm's tokens: what its bindings give rights to. */
export const JOIN_GROUP = 'system:bootstrappers:kubeadm:default-node-token';

const FORM = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const ID = /^[a-z0-9]{6}$/;
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

export function parseToken(text: string): JoinToken {
  const [, id, secret] = FORM.exec(text.trim()) ?? [];
  if (id !== undefined && secret !== undefined) return { id, secret };
  throw new ClusterError(
    'BAD_TOKEN',
    'the token is not of the form abcdef.0123456789abcdef (six and sixteen small letters or digits); ' +
      'make one on the server with "trellis token create"',
  );
}

/** Of a whole token or of its first part alone. */
export function tokenId(text: string): string {
  return ID.test(text) ? text : parseToken(text).id;
}

export function newToken(): JoinToken {
  const letters = (count: number) =>
    Array.from({ length: count }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('');
  return { id: letters(6), secret: letters(16) };
}

export const tokenText = ({ id, secret }: JoinToken): string => `${id}.${secret}`;

export const secretName = (id: string) => ({ namespace: TOKEN_NAMESPACE, name: `bootstrap-token-${id}` });

export interface TokenWish {
  readonly token: JoinToken;
  /** Undefined for one that never ends. */
  readonly expiresAt: number | undefined;
  readonly description?: string | undefined;
}

/** As kubeadm writes it, so that its tools and ours read each other's. */
export function tokenSecret({ token, expiresAt, description }: TokenWish): V1Secret {
  const texts: Record<string, string> = {
    'token-id': token.id,
    'token-secret': token.secret,
    'usage-bootstrap-authentication': 'true',
    'usage-bootstrap-signing': 'true',
    'auth-extra-groups': JOIN_GROUP,
    ...(expiresAt === undefined ? {} : { expiration: stamp(expiresAt) }),
    ...(description === undefined ? {} : { description }),
  };
  const data = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return { metadata: secretName(token.id), type: TOKEN_TYPE, data: Object.fromEntries(data) };
}

const stamp = (at: number) => new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');

export interface TokenView {
  readonly token: string;
  /** Empty for one that never ends. */
  readonly expires: string;
  readonly usages: string;
  readonly description: string;
  readonly groups: string;
}

export function viewOf({ data = {} }: Stored<V1Secret>): TokenView {
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
  const usages = ['authentication', 'signing'].filter((use) => text(`usage-bootstrap-${use}`) === 'true');
  return {
    token: `${text('token-id')}.${text('token-secret')}`,
    expires: text('expiration'),
    usages: usages.join(','),
    description: text('description'),
    groups: text('auth-extra-groups'),
  };
}
