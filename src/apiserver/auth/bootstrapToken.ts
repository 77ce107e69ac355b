// Bootstrap tokens: short secrets by which new nodes join, each a Secret bootstrap-token-<id> in kube-system.
// Guarantees: a token that has expired, is going or is not meant for authentication is refused; its groups stay below system:bootstrappers.
import { timingSafeEqual } from 'node:crypto';
import type { V1Secret } from '../../api/gen/types.js';
import type { ObjectName, Stored } from '../../api/object.js';
import type { Authenticator, UserInfo } from '../identity.js';
import { digestOf } from './staticToken.js';
import { bearerToken, unauthorized } from './unauthorized.js';

interface BootstrapTokenOptions {
  secret(name: ObjectName): Promise<Stored<V1Secret> | undefined>;
  now?(): number;
}

const FORM = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const TYPE = 'bootstrap.kubernetes.io/token';
const GROUP = 'system:bootstrappers';
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export function makeBootstrapTokenAuthenticator({
  secret: lookup,
  now = Date.now,
}: BootstrapTokenOptions): Authenticator {
  return {
    async authenticate({ authorization }) {
      const [, id, part] = FORM.exec(bearerToken(authorization) ?? '') ?? [];
      if (id === undefined || part === undefined) return undefined;
      const secret = await lookup({ namespace: 'kube-system', name: `bootstrap-token-${id}` });
      const user = secret === undefined ? undefined : userOf(secret, id, part, now());
      if (user === undefined) throw unauthorized();
      return user;
    },
  };
}

/** Undefined when the token is not good; nobody is told why. */
function userOf(
  { metadata, type, data = {} }: Stored<V1Secret>,
  id: string,
  part: string,
  now: number,
): UserInfo | undefined {
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString();
  if (metadata.deletionTimestamp !== undefined || type !== TYPE) return undefined;
  if (!timingSafeEqual(digestOf(text('token-secret')), digestOf(part)) || text('token-id') !== id)
    return undefined;
  const expiration = text('expiration');
  // A time that cannot be read is one that has passed.
  if (expiration !== '' && !(Date.parse(expiration) > now)) return undefined;
  if (text('usage-bootstrap-authentication') !== 'true') return undefined;
  const extra = text('auth-extra-groups')
    .split(',')
    .map((group) => group.trim())
    .filter(Boolean);
  if (!extra.every((group) => EXTRA_GROUP.test(group))) return undefined;
  return { name: `system:bootstrap:${id}`, groups: [...new Set([GROUP, ...extra])] };
}
