// Who may approve a certificate request, and who may sign it: a right on the request's signer, besides that on the request.
// Guarantees: without the verb on `signers` neither an approval nor a certificate is written.

import type { V1CertificateSigningRequest } from '../../api/gen/types.js';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import type { Authorizer } from '../identity.js';
import { isAbout } from './requests.js';

export function makeCertificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateApproval',
    validate(request) {
      if (!isAbout(request, CERTIFICATE_SIGNING_REQUESTS) || request.subresource !== 'approval') return;
      demand(authorizer, request, 'approve');
    },
  };
}

export function makeCertificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'CertificateSigning',
    validate(request) {
      if (!isAbout(request, CERTIFICATE_SIGNING_REQUESTS) || request.subresource !== 'status') return;
      if (signs(request)) demand(authorizer, request, 'sign');
    },
  };
}

/** Only what a signer writes needs the signer's right: a certificate, or that there will be none. */
function signs({ object, old }: AdmissionRequest): boolean {
  const wanted = (object as V1CertificateSigningRequest | undefined)?.status ?? {};
  const held = (old as V1CertificateSigningRequest | undefined)?.status ?? {};
  const failed = ({ conditions = [] }: typeof wanted) =>
    JSON.stringify(conditions.filter(({ type }) => type === 'Failed'));
  return wanted.certificate !== held.certificate || failed(wanted) !== failed(held);
}

function demand(authorizer: Authorizer, request: AdmissionRequest, verb: 'approve' | 'sign'): void {
  const signer = (request.old as V1CertificateSigningRequest | undefined)?.spec?.signerName ?? '';
  const domain = signer.split('/')[0] ?? '';
  // A right on the whole domain is a right on each of its signers.
  const isAllowed = [signer, `${domain}/*`].some(
    (name) =>
      authorizer.authorize({
        user: request.user,
        verb,
        group: 'certificates.k8s.io',
        version: '*',
        resource: 'signers',
        subresource: '',
        namespace: '',
        name,
      }).verdict === 'allow',
  );
  if (isAllowed) return;
  const why = `user not permitted to ${verb} requests with signerName "${signer}"`;
  throw forbidden(CERTIFICATE_SIGNING_REQUESTS, request.name, why);
}
