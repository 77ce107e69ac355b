// Checks of requests for certificates, and of the verdicts on them. Pure.
// Guarantees: the request is one in PEM, for a signer that has a full name; no request is both approved and denied.
import {
  type Cause,
  checkName,
  checkOneOf,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from '../causes.js';
import { readCertificateRequest } from '../certificates/request.js';
import type { V1CertificateSigningRequestSpec, V1CertificateSigningRequestStatus } from '../gen/types.js';
import { dnsSubdomain } from '../names.js';

const USAGES = [
  'signing',
  'digital signature',
  'content commitment',
  'key encipherment',
  'key agreement',
  'data encipherment',
  'cert sign',
  'crl sign',
  'encipher only',
  'decipher only',
  'any',
  'server auth',
  'client auth',
  'code signing',
  'email protection',
  's/mime',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'timestamping',
  'ocsp signing',
  'microsoft sgc',
  'netscape sgc',
];
const MIN_SECONDS = 600;
const MAX_SIGNER = 571;
const LASTING = ['Approved', 'Denied', 'Failed'];

export function validateRequest(spec: V1CertificateSigningRequestSpec | undefined): Cause[] {
  const { request = '', usages = [], signerName = '', expirationSeconds: seconds } = spec ?? {};
  const read = readCertificateRequest(request);
  const causes: Cause[] = typeof read === 'string' ? [invalidValue('spec.request', request, read)] : [];
  if (usages.length === 0) causes.push(required('spec.usages'));
  const seen = new Set<string>();
  for (const [index, usage] of usages.entries()) {
    const at = `spec.usages[${index}]`;
    if (!USAGES.includes(usage)) causes.push(notSupported(at, usage, USAGES));
    else if (seen.has(usage)) causes.push(duplicate(at, usage));
    seen.add(usage);
  }
  causes.push(...validateSigner(signerName, 'spec.signerName'));
  if (seconds !== undefined && seconds < MIN_SECONDS)
    causes.push(
      invalidValue(
        'spec.expirationSeconds',
        seconds,
        `may not specify a duration less than ${MIN_SECONDS} seconds (10 minutes)`,
      ),
    );
  return causes;
}

/** `domain/path`, the domain with at least two parts. */
function validateSigner(name: string, at: string): Cause[] {
  if (name === '') return [required(at)];
  if (name === 'kubernetes.io/legacy-unknown')
    return [invalidValue(at, name, 'the legacy signerName is not allowed via this API version')];
  const [domain = '', path, ...more] = name.split('/');
  if (path === undefined || more.length > 0)
    return [
      invalidValue(
        at,
        name,
        "must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ),
    ];
  if (name.length > MAX_SIGNER) return [invalidValue(at, name, `must be no more than ${MAX_SIGNER} bytes`)];
  const causes = checkName(at, domain, dnsSubdomain);
  if (!domain.includes('.'))
    causes.push(invalidValue(at, name, 'should be a domain with at least two segments separated by dots'));
  return [...causes, ...checkName(at, path, dnsSubdomain)];
}

export function validateStatus(
  { conditions = [] }: V1CertificateSigningRequestStatus,
  old: V1CertificateSigningRequestStatus | undefined,
): Cause[] {
  const at = 'status.conditions';
  const types = new Set(conditions.map(({ type }) => type));
  const causes: Cause[] = [];
  const seen = new Set<string>();
  for (const [index, { type, status }] of conditions.entries()) {
    const here = `${at}[${index}]`;
    if (!type) causes.push(required(`${here}.type`));
    else if (seen.has(type)) causes.push(duplicate(`${here}.type`, type));
    seen.add(type);
    if (!status) causes.push(required(`${here}.status`));
    else
      causes.push(
        ...checkOneOf(
          `${here}.status`,
          status,
          LASTING.includes(type) ? ['True'] : ['False', 'True', 'Unknown'],
        ),
      );
  }
  if (types.has('Approved') && types.has('Denied'))
    causes.push(invalidValue(at, 'Denied', 'Approved and Denied conditions are mutually exclusive'));
  for (const { type } of old?.conditions ?? [])
    if (LASTING.includes(type) && !types.has(type))
      causes.push(forbiddenField(at, `updates may not remove a condition of type ${JSON.stringify(type)}`));
  return causes;
}
