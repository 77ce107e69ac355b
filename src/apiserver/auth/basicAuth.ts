// Users by name and password: `Authorization: Basic`, judged by a file of `password,user,uid,"groups"`.
// Guarantees: an unknown user costs the same comparison as a known one; passwords are kept only as digests.
import { timingSafeEqual } from 'node:crypto';
import type { Authenticator } from '../identity.js';
import { digestOf } from './staticToken.js';
import { unauthorized } from './unauthorized.js';
import { parseUserFile } from './userFile.js';

export function makeBasicAuthenticator(csv: string): Authenticator {
  const users = new Map(
    parseUserFile(csv, 'password').map(({ secret, user }) => [user.name, { digest: digestOf(secret), user }]),
  );
  const nobody = digestOf('');
  return {
    async authenticate({ authorization }) {
      const sent = basicCredentials(authorization);
      if (sent === undefined) return undefined;
      const known = users.get(sent.name);
      const isRight = timingSafeEqual(known?.digest ?? nobody, digestOf(sent.password));
      if (known === undefined || !isRight) throw unauthorized();
      return known.user;
    },
  };
}

function basicCredentials(authorization: string | undefined): { name: string; password: string } | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}
