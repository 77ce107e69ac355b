// Users by client certificate: the subject's common name is the user, its organizations are the groups.
// Guarantees: only certificates that TLS has verified reach this place; one without a common name says nothing, one that
// has expired since the handshake is refused.
import type { Authenticator, Credentials, UserInfo } from '../identity.js';
import { unauthorized } from './unauthorized.js';
import { withAuthenticatedGroup } from './union.js';

/** By certificate, which is one object a connection: its user is made once and not with every request. */
const users = new WeakMap<NonNullable<Credentials['certificate']>, UserInfo>();

export const clientCertificate: Authenticator = {
  authenticate({ certificate }) {
    if (certificate === undefined || certificate.commonName === '') return undefined;
    if (Date.now() > certificate.notAfterMs)
      throw unauthorized(new Error('the client certificate has expired'));
    const known = users.get(certificate);
    if (known !== undefined) return known;
    const user = withAuthenticatedGroup({
      name: certificate.commonName,
      groups: certificate.organizations,
      extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.fingerprint}`] },
    });
    users.set(certificate, user);
    return user;
  },
};
