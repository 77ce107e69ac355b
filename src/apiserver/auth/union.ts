// Authenticators tried in turn: the first that knows the credentials names the user.
// Guarantees: a bearer token that nobody knows is refused, never taken for anonymous; known users are system:authenticated.
import type { Authenticator, Credentials, UserInfo } from '../identity.js';
import { ANONYMOUS } from './anonymous.js';
import { AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP } from './rbac.js';
import { bearerToken, unauthorized } from './unauthorized.js';

interface UnionOptions {
  readonly authenticators: readonly Authenticator[];
  /** Whether requests without credentials are served as system:anonymous. */
  readonly allowAnonymous: boolean;
}

/** Like the parts it is made of, but always answers a user or throws Unauthorized. */
export interface UnionAuthenticator extends Authenticator {
  authenticate(credentials: Credentials): Promise<UserInfo> | UserInfo;
}

export function makeUnionAuthenticator({ authenticators, allowAnonymous }: UnionOptions): UnionAuthenticator {
  const [first] = authenticators;
  const inTurn = async (credentials: Credentials, asked: ReturnType<Authenticator['authenticate']>) => {
    let refusal: unknown;
    for (const authenticator of authenticators) {
      try {
        const user = await (authenticator === first ? asked : authenticator.authenticate(credentials));
        if (user !== undefined) return withAuthenticatedGroup(user);
      } catch (error) {
        // Another one may still know these credentials: two issuers can share a token's form.
        refusal ??= error;
      }
    }
    if (refusal !== undefined) throw unauthorized(refusal);
    if (!allowAnonymous || bearerToken(credentials.authorization) !== undefined) throw unauthorized();
    return ANONYMOUS;
  };
  return {
    authenticate(credentials) {
      // Certificates come first, and need no waiting.
      const user = first?.authenticate(credentials);
      if (user === undefined || user instanceof Promise) return inTurn(credentials, user);
      return withAuthenticatedGroup(user);
    },
  };
}

export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const settled = user.groups.includes(AUTHENTICATED_GROUP) || user.groups.includes(UNAUTHENTICATED_GROUP);
  return settled ? user : { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}
