// Certificate requests: who may approve and sign, and whom a certificate may name.
import { describe, expect, test } from 'vitest';
import { CERTIFICATE_SIGNING_REQUESTS } from '../../../../src/api/resources.js';
import {
  makeCertificateApproval,
  makeCertificateSigning,
} from '../../../../src/apiserver/admission/certificateSigners.js';
import { certificateSubjectRestriction } from '../../../../src/apiserver/admission/certificateSubject.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';
import type { Authorizer } from '../../../../src/apiserver/identity.js';
import { craftRequest, named, OID, text } from '../../../support/certificateRequests.js';

const CLIENT = 'kubernetes.io/kube-apiserver-client';

const requestFor = (...organizations: readonly string[]) =>
  craftRequest(
    named(OID.commonName, text('jane')),
    ...organizations.map((one) => named(OID.organization, text(one))),
  ).request;
const ask = (changes: object) =>
  ({
    operation: 'update',
    type: CERTIFICATE_SIGNING_REQUESTS,
    subresource: '',
    namespace: '',
    name: 'x',
    user: { name: 'jane', groups: [] },
    dryRun: false,
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

describe('CertificateSubjectRestriction', () => {
  const create = (signerName: string, request: string) =>
    certificateSubjectRestriction.validate?.(
      ask({ operation: 'create', object: { spec: { signerName, request } } }),
    );
  test('refuses system:masters of the client signer', () => {
    const masters = requestFor('dev', 'system:masters');
    expect(() => create(CLIENT, masters)).toThrow(
      `use of ${CLIENT} signer with system:masters group is not allowed`,
    );
    expect(() => create('example.com/web', masters)).not.toThrow();
    expect(() => create(CLIENT, requestFor('dev'))).not.toThrow();
    expect(() => create(CLIENT, 'AAAA')).toThrow('unable to parse csr');
  });
});

describe('signers', () => {
  test.each([
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
  test('a certificate needs the right to sign; other status does not', () => {
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
