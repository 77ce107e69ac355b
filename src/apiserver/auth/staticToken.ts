// Users by a token file, as kube-apiserver's --token-auth-file.
// Guarantees: the time of a comparison tells nothing of a token; tokens are kept only as digests.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Authenticator, UserInfo } from '../identity.js';
import { bearerToken } from './unauthorized.js';
import { parseUserFile } from './userFile.js';

export function makeStaticTokenAuthenticator(csv: string): Authenticator {
  const known = parseUserFile(csv, 'token').map(({ secret, user }) => ({ digest: digestOf(secret), user }));
  return {
    async authenticate({ authorization }) {
      const token = bearerToken(authorization);
      if (token === undefined) return undefined;
      const digest = digestOf(token);
      let found: UserInfo | undefined;
      // Every entry is compared, found or not, so that the place of a match does not show.
      for (const entry of known) if (timingSafeEqual(entry.digest, digest)) found ??= entry.user;
      return found;
    },
  };
}

export function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
