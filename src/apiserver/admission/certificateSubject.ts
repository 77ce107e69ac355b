// Nobody asks for a client certificate of system:masters: such a right could never be taken back.
// Guarantees: a request that cannot be read is refused when it is for the signer of client certificates.

import { readCertificateRequest } from '../../api/certificates/request.js';
import type { V1CertificateSigningRequest } from '../../api/gen/types.js';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin } from '../admission.js';
import { draftOf } from './requests.js';

const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
const SUPERUSERS = 'system:masters';

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: 'CertificateSubjectRestriction',
  validate(request) {
    const csr = draftOf(request, CERTIFICATE_SIGNING_REQUESTS, 'create') as
      | V1CertificateSigningRequest
      | undefined;
    if (csr?.spec?.signerName !== CLIENT_SIGNER) return;
    const asked = readCertificateRequest(String(csr.spec.request ?? ''));
    if (typeof asked === 'string')
      throw forbidden(CERTIFICATE_SIGNING_REQUESTS, request.name, `unable to parse csr: ${asked}`);
    if (!asked.organizations.includes(SUPERUSERS)) return;
    const why = `use of ${CLIENT_SIGNER} signer with ${SUPERUSERS} group is not allowed`;
    throw forbidden(CERTIFICATE_SIGNING_REQUESTS, request.name, why);
  },
};
