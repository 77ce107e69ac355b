// Certificate requests are read in the one form that every reader agrees on, and in no other.
import { describe, expect, test } from 'vitest';
import { NO_PEM, readCertificateRequest, UNREADABLE } from '../../../../src/api/certificates/request.js';
import {
  craftRequest,
  element,
  named,
  OID,
  pemOf,
  STRING,
  text,
} from '../../../support/certificateRequests.js';

const MASTERS = 'system:masters';
const jane = named(OID.commonName, text('jane'));
const organization = (value: Uint8Array) => named(OID.organization, value);
const read = (pem: string) => readCertificateRequest(Buffer.from(pem).toString('base64'));
const derOf = (pem: string) => Buffer.from(pem.replace(/-----.*-----|\s/g, ''), 'base64');
const wide = (bytes: number) =>
  Buffer.concat([...MASTERS].map((char) => Buffer.from([...Buffer.alloc(bytes - 1), char.charCodeAt(0)])));

describe('a subject', () => {
  test('is read with all its organizations and its last common name', () => {
    const crafted = craftRequest(
      organization(text('dev')),
      jane,
      organization(text('ops', STRING.printable)),
      named(OID.commonName, text('joan', STRING.ia5)),
    );
    expect(readCertificateRequest(crafted.request)).toMatchObject({
      commonName: 'joan',
      organizations: ['dev', 'ops'],
    });
  });
  test.each<[string, Uint8Array]>([
    ['a constructed UTF8String', organization(element(0x2c, text(MASTERS)))],
    ['a constructed PrintableString', organization(element(0x33, text(MASTERS, STRING.printable)))],
    ['an object id with a leading zero', named('5504800a', text(MASTERS))],
    ['an object id that does not end', named('55048a', text(MASTERS))],
    ['a UniversalString', organization(element(STRING.universal, wide(4)))],
    ['a BMPString', organization(element(STRING.bmp, wide(2)))],
    ['a TeletexString', organization(text(MASTERS, STRING.teletex))],
    ['a character that a PrintableString lacks', organization(text('a@b', STRING.printable))],
    ['bytes that are no UTF-8', organization(element(STRING.utf8, Buffer.from([0x61, 0xff])))],
    ['a zero byte', organization(text(`${MASTERS}\0x`))],
    ['a value that is no string', organization(element(0x30))],
    [
      'a second value',
      element(0x31, element(0x30, element(0x06, Buffer.from('55040a', 'hex')), text('a'), text('b'))),
    ],
    ['no attribute', element(0x31)],
  ])('with %s is refused', (_, name) => {
    expect(readCertificateRequest(craftRequest(jane, name).request)).toBe(UNREADABLE);
  });
});

describe('the encoding', () => {
  const der = derOf(craftRequest(jane).pem);
  test('is the shortest, whole, and with nothing after it', () => {
    expect(read(pemOf(der))).toMatchObject({ commonName: 'jane' });
    expect(read(pemOf(Buffer.concat([der, Buffer.from([0x05, 0x00])])))).toBe(UNREADABLE);
    expect(read(pemOf(der.subarray(0, -1)))).toBe(UNREADABLE);
    const body = der.subarray(3);
    const longer = Buffer.concat([Buffer.from([0x30, 0x82, 0x00, body.length]), body]);
    expect(read(pemOf(longer))).toBe(UNREADABLE);
  });
  test('hostile bytes only fail', () => {
    const outcomes = { refused: 0, read: 0 };
    for (let at = 0; at < der.length; at += 1)
      for (const value of [0x00, 0x1e, 0x7f, 0x80, 0x84, 0xff]) {
        const broken = Buffer.from(der);
        broken[at] = value;
        outcomes[read(pemOf(broken)) === UNREADABLE ? 'refused' : 'read'] += 1;
      }
    // Most bytes are of the key and the signature, which are not read.
    expect(outcomes.refused).toBeGreaterThan(100);
    expect(outcomes.read).toBeGreaterThan(outcomes.refused);
  });
});

describe('the PEM', () => {
  const { pem } = craftRequest(jane);
  const other = craftRequest(jane, organization(text(MASTERS)));
  test('may stand among white space and have lines that end as in Windows', () => {
    expect(read(`\n${pem.replaceAll('\n', '\r\n')}\n \n`)).toMatchObject({ commonName: 'jane' });
  });
  test.each([
    ['nothing', ''],
    ['a second block', pem + other.pem],
    [
      'a block before whose labels differ',
      pemOf(derOf(pem), 'CERTIFICATE REQUEST', 'CERTIFICATE') + other.pem,
    ],
    ['labels that differ', pemOf(derOf(pem), 'CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST')],
    ['another label', pemOf(derOf(pem), 'NEW CERTIFICATE REQUEST')],
    ['text before it', `Certificate Request:\n${pem}`],
    ['text after it', `${pem}x`],
    ['headers', pem.replace('-----\n', '-----\nProc-Type: 4,ENCRYPTED\n\n')],
  ])('with %s is refused', (_, text) => expect(read(text)).toBe(NO_PEM));
  test('with base64 that is none is refused', () => {
    expect(read(pem.replace('-----\n', '-----\n='))).toBe(UNREADABLE);
    expect(readCertificateRequest('!')).toBe(NO_PEM);
  });
});
