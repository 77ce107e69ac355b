// Users by a token file: `token,user,uid,"group1,group2"`, one a line, as kube-apiserver's --token-auth-file.
// Guarantees: the time of a comparison tells nothing of a token; tokens are kept only as digests.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Authenticator, UserInfo } from '../identity.js';
import { AuthConfigError } from './error.js';
import { bearerToken } from './unauthorized.js';

export function makeStaticTokenAuthenticator(csv: string): Authenticator {
  const known = parseTokenFile(csv).map(({ token, user }) => ({ digest: digestOf(token), user }));
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

export function parseTokenFile(csv: string): readonly { readonly token: string; readonly user: UserInfo }[] {
  return csv.split(/\r?\n/).flatMap((line, at) => {
    if (line.trim() === '' || line.trimStart().startsWith('#')) return [];
    const [token = '', name = '', uid = '', groups = ''] = fieldsOf(line);
    // The line's number and nothing of its content: it holds a secret.
    if (token === '' || name === '')
      throw new AuthConfigError(
        'TOKEN_FILE',
        `token file, line ${at + 1}: expected at least a token, a user name and a uid`,
      );
    const names = groups.split(',').flatMap((group) => (group.trim() === '' ? [] : [group.trim()]));
    return [{ token, user: { name, groups: names, ...(uid === '' ? {} : { uid }) } }];
  });
}

/** The fields of one CSV line; quotes hold commas, and a doubled quote is a quote. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain = '']) =>
    quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'),
  );
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
