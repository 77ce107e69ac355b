// What a PKCS #10 certificate request in PEM asks to be called: the one reader of API, admission and signer. Pure.
// Guarantees: never throws; what another reader could read differently is no request, so nobody is signed a name that
// nobody judged. RFC 2986: { { version, subject, key, attributes }, algorithm, signature }.
import { type DerElement, derElements, insideOf, objectIdOf, TAG, textOf } from './der.js';
import type { CertificateUser } from './subject.js';

const ORGANIZATION = '2.5.4.10';
const COMMON_NAME = '2.5.4.3';
/** RFC 7468, section 2: one block, and nothing beside it but white space. */
const PEM =
  /^\s*-----BEGIN CERTIFICATE REQUEST-----[ \t]*\r?\n([A-Za-z0-9+/=\r\n \t]+)-----END CERTIFICATE REQUEST-----\s*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

interface CertificateRequestName extends CertificateUser {
  readonly der: Uint8Array;
}

export const NO_PEM = 'PEM block type must be CERTIFICATE REQUEST';
export const UNREADABLE = 'unable to parse csr';

/** `request` is base64 of PEM, as in spec.request. Otherwise the answer says what it is not. */
export function readCertificateRequest(
  request: string,
): CertificateRequestName | typeof NO_PEM | typeof UNREADABLE {
  const [, lines] = PEM.exec(binaryOf(request) ?? '') ?? [];
  if (lines === undefined) return NO_PEM;
  const binary = binaryOf(lines.replace(/\s/g, ''));
  if (binary === undefined) return UNREADABLE;
  const der = new Uint8Array(binary.length);
  for (let at = 0; at < der.length; at += 1) der[at] = binary.charCodeAt(at);
  const user = requestedUser(der);
  return user === undefined ? UNREADABLE : { ...user, der };
}

function binaryOf(base64: string): string | undefined {
  return BASE64.test(base64) ? atob(base64) : undefined;
}

function requestedUser(der: Uint8Array): CertificateUser | undefined {
  const [whole, ...beside] = derElements(der) ?? [];
  const [info, algorithm, signature, ...more] = insideOf(whole, TAG.sequence) ?? [];
  const [version, subject, key, attributes, ...further] = insideOf(info, TAG.sequence) ?? [];
  const isWhole = beside.length + more.length + further.length === 0;
  const tags = [algorithm, signature, version, key].map((element) => element?.tag);
  const expected = [TAG.sequence, TAG.bits, TAG.integer, TAG.sequence];
  if (!isWhole || tags.join() !== expected.join()) return undefined;
  if (attributes !== undefined && insideOf(attributes, TAG.attributes) === undefined) return undefined;
  const names = insideOf(subject, TAG.sequence);
  return names === undefined ? undefined : userOf(names);
}

/** As Go reads a subject: every organization counts, and of several common names the last. */
function userOf(names: readonly DerElement[]): CertificateUser | undefined {
  let commonName = '';
  const organizations: string[] = [];
  for (const name of names) {
    const parts = insideOf(name, TAG.set);
    if (parts === undefined || parts.length === 0) return undefined;
    for (const part of parts) {
      const [type, value, ...more] = insideOf(part, TAG.sequence) ?? [];
      if (type === undefined || value === undefined || more.length > 0) return undefined;
      const id = objectIdOf(type);
      const text = textOf(value);
      if (id === undefined || text === undefined) return undefined;
      if (id === ORGANIZATION) organizations.push(text);
      if (id === COMMON_NAME) commonName = text;
    }
  }
  return { commonName, organizations };
}
