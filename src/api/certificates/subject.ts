// Who a certificate says its holder is, of the subject as OpenSSL and Node tell it. Pure.
// Guarantees: servers that authenticate by certificates and the signer that makes them read a subject alike.

export interface CertificateUser {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** An attribute that is there several times is a list. */
interface CertificateSubject {
  readonly CN?: string | readonly string[] | undefined;
  readonly O?: string | readonly string[] | undefined;
}

/** As Go reads a subject: every organization is a group, and of several common names the last is the user. */
export function subjectUser({ CN, O }: CertificateSubject): CertificateUser {
  return { commonName: valuesOf(CN).at(-1) ?? '', organizations: valuesOf(O) };
}

function valuesOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
