// Certificate requests put together byte by byte, so that a test can ask in forms that no library would write.
// Guarantees: each is signed by the key that it holds.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

interface CraftedRequest {
  readonly pem: string;
  /** As spec.request has it. */
  readonly request: string;
  readonly key: KeyObject;
}

export const OID = { commonName: '550403', organization: '55040a' };
export const STRING = { utf8: 0x0c, printable: 0x13, teletex: 0x14, ia5: 0x16, universal: 0x1c, bmp: 0x1e };

export function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const digits = body.length < 0x80 ? '' : evenHex(body.length);
  const length =
    digits === ''
      ? Buffer.from([body.length])
      : Buffer.concat([Buffer.from([0x80 + digits.length / 2]), Buffer.from(digits, 'hex')]);
  return Buffer.concat([Buffer.from([tag]), length, body]);
}

function evenHex(number: number): string {
  const digits = number.toString(16);
  return digits.length % 2 === 0 ? digits : `0${digits}`;
}

/** One name of a subject: an object id in hex and its value as an element. */
export const named = (oid: string, value: Uint8Array): Buffer =>
  element(0x31, element(0x30, element(0x06, Buffer.from(oid, 'hex')), value));

export const text = (value: string, tag: number = STRING.utf8): Buffer => element(tag, Buffer.from(value));

export function craftRequest(...names: readonly Uint8Array[]): CraftedRequest {
  const { publicKey, privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const info = element(0x30, element(0x02, Buffer.from([0])), element(0x30, ...names), spki, element(0xa0));
  const ecdsaWithSha256 = element(0x30, element(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
  const signature = element(0x03, Buffer.from([0]), sign('sha256', info, key));
  const pem = pemOf(element(0x30, info, ecdsaWithSha256, signature));
  return { pem, request: Buffer.from(pem).toString('base64'), key };
}

export function pemOf(der: Uint8Array, begin = 'CERTIFICATE REQUEST', end = begin): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${begin}-----`, ...lines, `-----END ${end}-----`, ''].join('\n');
}
