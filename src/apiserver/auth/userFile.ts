// Files of users: `secret,user,uid,"group1,group2"`, one a line, as kube-apiserver's token and basic-auth files are. Pure.
// Guarantees: a message names the line and nothing of its content, since that holds a secret.
import type { UserInfo } from '../identity.js';
import { AuthConfigError } from './error.js';

interface UserFileEntry {
  readonly secret: string;
  readonly user: UserInfo;
}

export function parseUserFile(csv: string, what: 'token' | 'password'): readonly UserFileEntry[] {
  return csv.split(/\r?\n/).flatMap((line, at) => {
    if (line.trim() === '' || line.trimStart().startsWith('#')) return [];
    const [secret = '', name = '', uid = '', groups = ''] = fieldsOf(line);
    if (secret === '' || name === '')
      throw new AuthConfigError(
        what === 'token' ? 'TOKEN_FILE' : 'BASIC_AUTH_FILE',
        `${what} file, line ${at + 1}: expected at least a ${what}, a user name and a uid`,
      );
    const names = groups.split(',').flatMap((group) => (group.trim() === '' ? [] : [group.trim()]));
    return [{ secret, user: { name, groups: names, ...(uid === '' ? {} : { uid }) } }];
  });
}

/** The fields of one CSV line; quotes hold commas, and a doubled quote is a quote. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain = '']) =>
    quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'),
  );
}
