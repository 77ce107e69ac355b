// The organizations that a PKCS #10 certificate request names, read from its DER. Pure.
// Guarantees: never throws and never reads outside the bytes; what is not such a request is undefined.
// RFC 2986: CertificationRequest { CertificationRequestInfo { version, subject Name, ... }, ... }.

interface Element {
  readonly tag: number;
  readonly body: Buffer;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const OBJECT_ID = 0x06;
/** 2.5.4.10, organizationName. */
const ORGANIZATION = '55040a';
const BMP_STRING = 0x1e;

/** `request` is base64 of PEM, as in spec.request. */
export function subjectOrganizations(request: string): readonly string[] | undefined {
  const pem = Buffer.from(request, 'base64').toString('latin1');
  const [, body] =
    /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([\s\S]+?)-----END (?:NEW )?CERTIFICATE REQUEST-----/.exec(
      pem,
    ) ?? [];
  if (body === undefined) return undefined;
  const [whole] = elements(Buffer.from(body, 'base64')) ?? [];
  const [info] = inside(whole, SEQUENCE) ?? [];
  const [version, subject] = inside(info, SEQUENCE) ?? [];
  const names = version?.tag === INTEGER ? inside(subject, SEQUENCE) : undefined;
  return names === undefined ? undefined : organizationsOf(names);
}

function organizationsOf(names: readonly Element[]): readonly string[] | undefined {
  const found: string[] = [];
  for (const name of names) {
    const attributes = inside(name, SET);
    if (attributes === undefined) return undefined;
    for (const attribute of attributes) {
      const [type, value] = inside(attribute, SEQUENCE) ?? [];
      if (type?.tag !== OBJECT_ID || value === undefined) return undefined;
      if (type.body.toString('hex') !== ORGANIZATION) continue;
      const text = textOf(value);
      if (text === undefined) return undefined;
      found.push(text);
    }
  }
  return found;
}

/** Undefined when the bytes are no text of that kind: a BMPString is made of pairs. */
function textOf({ tag, body }: Element): string | undefined {
  if (tag !== BMP_STRING) return body.toString('utf8');
  if (body.length % 2 !== 0) return undefined;
  return Buffer.from(body).swap16().toString('utf16le');
}

function inside(element: Element | undefined, tag: number): readonly Element[] | undefined {
  return element?.tag === tag ? elements(element.body) : undefined;
}

/** The elements that lie one after another, or undefined when they do not fill the bytes. */
function elements(bytes: Buffer): readonly Element[] | undefined {
  const found: Element[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at] ?? 0;
    let length = bytes[at + 1];
    if (length === undefined) return undefined;
    at += 2;
    if (length > 0x80) {
      const digits = length - 0x80;
      if (digits > 4 || at + digits > bytes.length) return undefined;
      length = bytes.readUIntBE(at, digits);
      at += digits;
    } else if (length === 0x80) return undefined;
    if (at + length > bytes.length) return undefined;
    found.push({ tag, body: bytes.subarray(at, at + length) });
    at += length;
  }
  return found;
}
