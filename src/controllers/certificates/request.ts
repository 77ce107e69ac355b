// What a certificate request asks for: read out of its PEM, its signature checked.
// Guarantees: whoever made the request holds the key in it; a request that cannot be read is told in one sentence; its
// subject is what admission has read and judged.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { readCertificateRequest } from '../../api/certificates/request.js';
import type { CertificateUser } from '../../api/certificates/subject.js';

x509.cryptoProvider.set(webcrypto);

const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';

export interface RequestedCertificate extends CertificateUser {
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
  const subject = readCertificateRequest(request);
  if (typeof subject === 'string') throw new RangeError(subject);
  let pkcs10: x509.Pkcs10CertificateRequest;
  try {
    pkcs10 = new x509.Pkcs10CertificateRequest(new Uint8Array(subject.der));
  } catch (cause) {
    throw new RangeError('unable to parse csr', { cause });
  }
  if (!(await pkcs10.verify().catch(() => false)))
    throw new RangeError('the signature of the csr does not fit its key');
  const { commonName, organizations } = subject;
  return { asked: { commonName, organizations, ...alternativeNames(pkcs10) }, pkcs10 };
}

function alternativeNames(
  pkcs10: x509.Pkcs10CertificateRequest,
): Omit<RequestedCertificate, keyof CertificateUser> {
  const found = pkcs10.extensions.find(({ type }) => type === SUBJECT_ALTERNATIVE_NAME);
  const names = found instanceof x509.SubjectAlternativeNameExtension ? found.names.items : [];
  const of = (type: string) => names.filter((name) => name.type === type).map(({ value }) => value);
  return { dnsNames: of('dns'), ipAddresses: of('ip'), emails: of('email'), uris: of('url') };
}
