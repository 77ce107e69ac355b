// Authenticators tried in turn: the first that knows the credentials names the user.
// Guarantees: a bearer token that nobody knows is refused, never taken for anonymous; known users are system:authenticated.
import type { Authenticator, UserInfo } from '../identity.js';
import { ANONYMOUS } from './anonymous.js';
import { AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP } from './rbac.js';
import { bearerToken, unauthorized } from './unauthorized.js';

export interface UnionOptions {
  readonly authenticators: readonly Authenticator[];
  /** Whether requests without credentials are served as system:anonymous. */
  readonly allowAnonymous: boolean;
}

/** Like the parts it is made of, but always answers a user or throws Unauthorized. */
export interface UnionAuthenticator extends Authenticator {
  authenticate(credentials: Parameters<Authenticator['authenticate']>[0]): Promise<UserInfo>;
}

export function makeUnionAuthenticator({ authenticators, allowAnonymous }: UnionOptions): UnionAuthenticator {
  return {
    async authenticate(credentials) {
      let refusal: unknown;
      for (const authenticator of authenticators) {
        try {
          const user = await authenticator.authenticate(credentials);
          if (user !== undefined) return withAuthenticatedGroup(user);
        } catch (error) {
          // Another one may still know these credentials: two issuers can share a token's form.
          refusal ??= error;
        }
      }
      if (refusal !== undefined) throw unauthorized(refusal);
      if (!allowAnonymous || bearerToken(credentials.authorization) !== undefined) throw unauthorized();
      return ANONYMOUS;
    },
  };
}

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const settled = user.groups.includes(AUTHENTICATED_GROUP) || user.groups.includes(UNAUTHENTICATED_GROUP);
  return settled ? user : { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}
