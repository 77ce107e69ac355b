// A bundle of authorities in PEM, as caBundle has it: whether there is a certificate in it. Pure.
// Guarantees: never throws; one readable certificate is enough, as for Kubernetes.
import { derElements, insideOf, TAG } from './der.js';

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[ \t]*\r?\n([A-Za-z0-9+/=\r\n \t]*)-----END \1-----/g;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const LEAD = 'unable to load root certificates: ';

/** `bundle` is base64 of the text. Undefined when it can be used. */
export function bundleFault(bundle: string): string | undefined {
  const text = bytesOf(bundle.replace(/\s/g, ''));
  if (text === undefined) return `${LEAD}unable to parse bytes as PEM block`;
  let hasBlock = false;
  let hasUnreadable = false;
  for (const [, type, lines = ''] of text.matchAll(BLOCK)) {
    hasBlock = true;
    if (type !== 'CERTIFICATE') continue;
    if (isCertificate(lines)) return undefined;
    hasUnreadable = true;
  }
  if (hasUnreadable) return `${LEAD}failed to parse certificate: x509: malformed certificate`;
  return `${LEAD}${hasBlock ? 'no valid certificate authority data seen' : 'unable to parse bytes as PEM block'}`;
}

function bytesOf(base64: string): string | undefined {
  return BASE64.test(base64) ? atob(base64) : undefined;
}

/** RFC 5280, section 4.1: { { what is certified }, algorithm, signature }. */
function isCertificate(lines: string): boolean {
  const binary = bytesOf(lines.replace(/\s/g, '')) ?? '';
  const [whole, ...beside] = derElements(Uint8Array.from(binary, (byte) => byte.charCodeAt(0))) ?? [];
  const [certified, algorithm, signature, ...more] = insideOf(whole, TAG.sequence) ?? [];
  const tags = [certified, algorithm, signature].map((element) => element?.tag);
  return beside.length + more.length === 0 && tags.join() === [TAG.sequence, TAG.sequence, TAG.bits].join();
}
