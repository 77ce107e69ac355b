// Users by client certificate: the subject's common name is the user, its organizations are the groups.
// Guarantees: only certificates that TLS has verified reach this place; one without a common name says nothing.
import type { Authenticator } from '../identity.js';

export const clientCertificate: Authenticator = {
  async authenticate({ certificate }) {
    if (certificate === undefined || certificate.commonName === '') return undefined;
    return { name: certificate.commonName, groups: certificate.organizations };
  },
};
