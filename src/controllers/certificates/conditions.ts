// Where a certificate request stands: asked, judged, failed, issued. Pure.
import type { V1CertificateSigningRequest } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';

export type CertificateRequest = Stored<V1CertificateSigningRequest>;

export function hasCondition(
  { status }: CertificateRequest,
  type: 'Approved' | 'Denied' | 'Failed',
): boolean {
  return (status?.conditions ?? []).some((condition) => condition.type === type);
}

export const isJudged = (request: CertificateRequest): boolean =>
  hasCondition(request, 'Approved') || hasCondition(request, 'Denied');

export const isIssued = ({ status }: CertificateRequest): boolean => Boolean(status?.certificate);
