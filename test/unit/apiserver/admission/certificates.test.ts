// Certificate requests: who may approve and sign, and whom a certificate may name.
import { webcrypto } from 'node:crypto';
import 'reflect-metadata'; // before x509, which reads it while loading
import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../../../src/api/resources.js';
import { subjectOrganizations } from '../../../../src/apiserver/admission/certificateRequest.js';
import {
  makeCertificateApproval,
  makeCertificateSigning,
} from '../../../../src/apiserver/admission/certificateSigners.js';
import { certificateSubjectRestriction } from '../../../../src/apiserver/admission/certificateSubject.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';
import type { Authorizer } from '../../../../src/apiserver/identity.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const CLIENT = 'kubernetes.io/kube-apiserver-client';

async function requestFor(name: string): Promise<string> {
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const keys = (await webcrypto.subtle.generateKey(ALGORITHM, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const csr = await x509.Pkcs10CertificateRequestGenerator.create({
    name,
    keys,
    signingAlgorithm: ALGORITHM,
  });
  return Buffer.from(csr.toString('pem')).toString('base64');
}
const ask = (changes: object) =>
  ({
    ...{ operation: 'update', type: CERTIFICATE_SIGNING_REQUESTS, subresource: '', namespace: '', name: 'x' },
    ...{ user: { name: 'jane', groups: [] }, dryRun: false },
    ...changes,
  }) as AdmissionRequest;
const old = { spec: { signerName: 'example.com/web' } };
const only = (verb: string, name: string): Authorizer => ({
  authorize: (asked) => ({
    verdict:
      asked.verb === verb && asked.name === name && asked.resource === 'signers' ? 'allow' : 'no opinion',
    reason: '',
  }),
});

describe('organizations of a request', () => {
  it('are read', async () => {
    expect(subjectOrganizations(await requestFor('CN=jane, O=dev, O=ops'))).toEqual(['dev', 'ops']);
    expect(subjectOrganizations(await requestFor('CN=jane'))).toEqual([]);
  });
  it.each([
    '',
    'AAAA',
    Buffer.from('-----BEGIN CERTIFICATE REQUEST-----\nMIH/\n-----END CERTIFICATE REQUEST-----').toString(
      'base64',
    ),
  ])('are not read of %j', (text) => expect(subjectOrganizations(text)).toBeUndefined());
  it('hostile bytes only fail', async () => {
    const good = Buffer.from(await requestFor('CN=jane, O=dev'), 'base64').toString();
    const [, body = ''] = /-----\n([\s\S]+?)\n-----END/.exec(good) ?? [];
    const der = Buffer.from(body, 'base64');
    const outcomes = { refused: 0, read: 0 };
    for (let at = 0; at < der.length; at += 1)
      for (const value of [0x00, 0x1e, 0x7f, 0x80, 0x84, 0xff]) {
        const broken = Buffer.from(der);
        broken[at] = value;
        const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${broken.toString('base64')}\n-----END CERTIFICATE REQUEST-----`;
        const read = subjectOrganizations(Buffer.from(pem).toString('base64'));
        expect(read ?? []).toEqual((read ?? []).map(String));
        outcomes[read === undefined ? 'refused' : 'read'] += 1;
      }
    // Most bytes are of the key and the signature, which are not read.
    expect(outcomes.refused).toBeGreaterThan(100);
    expect(outcomes.read).toBeGreaterThan(outcomes.refused);
  });
});

describe('CertificateSubjectRestriction', () => {
  const create = (signerName: string, request: string) =>
    certificateSubjectRestriction.validate?.(
      ask({ operation: 'create', object: { spec: { signerName, request } } }),
    );
  it('refuses system:masters of the client signer', async () => {
    const masters = await requestFor('CN=jane, O=system:masters');
    expect(() => create(CLIENT, masters)).toThrow(
      `use of ${CLIENT} signer with system:masters group is not allowed`,
    );
    const developer = await requestFor('CN=jane, O=dev');
    expect(() => create('example.com/web', masters)).not.toThrow();
    expect(() => create(CLIENT, developer)).not.toThrow();
    expect(() => create(CLIENT, 'AAAA')).toThrow('unable to parse csr');
  });
});

describe('signers', () => {
  it.each([
    ['the signer', only('approve', 'example.com/web'), true],
    ['the whole domain', only('approve', 'example.com/*'), true],
    ['another signer', only('approve', 'example.com/other'), false],
    ['signing only', only('sign', 'example.com/web'), false],
  ])('approval with a right on %s', (_, authorizer, isAllowed) => {
    const approve = () =>
      makeCertificateApproval(authorizer).validate?.(ask({ subresource: 'approval', object: old, old }));
    if (isAllowed) expect(approve).not.toThrow();
    else expect(approve).toThrow('user not permitted to approve requests with signerName "example.com/web"');
  });
  it('a certificate needs the right to sign; other status does not', () => {
    const plugin = makeCertificateSigning(only('approve', 'example.com/web'));
    const write = (status: object) =>
      plugin.validate?.(ask({ subresource: 'status', object: { ...old, status }, old }));
    expect(() => write({ certificate: 'x' })).toThrow('user not permitted to sign');
    expect(() => write({ conditions: [{ type: 'Failed', status: 'True' }] })).toThrow(
      'not permitted to sign',
    );
    expect(() => write({ conditions: [{ type: 'Approved', status: 'True' }] })).not.toThrow();
  });
});
