// What a certificate request asks for: read out of its PEM, its signature checked.
// Guarantees: whoever made the request holds the key in it; a request that cannot be read is told in one sentence.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(webcrypto);

const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';

export interface RequestedCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

export interface ReadRequest {
  readonly asked: RequestedCertificate;
  readonly pkcs10: x509.Pkcs10CertificateRequest;
}

/** `request` is as the API has it: the PEM, in base64. Throws RangeError when it is not a good one. */
export async function readRequest(request: string): Promise<ReadRequest> {
  let pkcs10: x509.Pkcs10CertificateRequest;
  try {
    pkcs10 = new x509.Pkcs10CertificateRequest(Buffer.from(request, 'base64').toString());
  } catch (cause) {
    throw new RangeError('unable to parse csr', { cause });
  }
  if (!(await pkcs10.verify().catch(() => false)))
    throw new RangeError('the signature of the csr does not fit its key');
  return { asked: askedBy(pkcs10), pkcs10 };
}

function askedBy(pkcs10: x509.Pkcs10CertificateRequest): RequestedCertificate {
  const { subjectName } = pkcs10;
  const names = alternativeNames(pkcs10)?.names.items ?? [];
  const of = (type: string) => names.filter((name) => name.type === type).map(({ value }) => value);
  return {
    commonName: subjectName.getField('CN')[0] ?? '',
    organizations: subjectName.getField('O'),
    dnsNames: of('dns'),
    ipAddresses: of('ip'),
    emails: of('email'),
    uris: of('url'),
  };
}

export function alternativeNames(
  pkcs10: x509.Pkcs10CertificateRequest,
): x509.SubjectAlternativeNameExtension | undefined {
  const found = pkcs10.extensions.find(({ type }) => type === SUBJECT_ALTERNATIVE_NAME);
  return found instanceof x509.SubjectAlternativeNameExtension ? found : undefined;
}
