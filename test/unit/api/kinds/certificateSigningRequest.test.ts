// CertificateSigningRequest: who asks, who approves, and what stays.
import { describe, expect, test } from 'vitest';
import { certificateSigningRequestKind as kind } from '../../../../src/api/kinds/certificateSigningRequest.js';
import { smallest } from './smallest.js';
import { cellsOf, create, faultsOf, faultsOfUpdate, update } from './support.js';

const now = Date.parse('2026-01-01T00:01:30Z');
const body = smallest(kind) as ReturnType<typeof smallest> & { spec: object };
const approved = { type: 'Approved', status: 'True', reason: 'KubectlApprove' };
const withSpec = (fields: object) => ({ ...body, spec: { ...body.spec, ...fields } });

test('is asked for by whoever was authenticated, whatever the body says', () => {
  const created = create(kind, withSpec({ username: 'root', groups: ['system:masters'], uid: '0' }));
  expect(created.spec).toMatchObject({ username: 'alice', groups: ['system:authenticated'] });
  expect(created.spec).not.toHaveProperty('uid');
  expect(created.status).toEqual({});
});

test('takes a verdict through approval only, and a certificate through status only', () => {
  const sent = { ...body, status: { conditions: [approved], certificate: 'eA==' } };
  const judged = update(kind, body, sent, 'approval');
  const times = { lastUpdateTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' };
  expect(judged.status).toEqual({ conditions: [{ ...approved, ...times }] });
  expect(update(kind, body, sent, 'status').status).toEqual({ certificate: 'eA==' });
});

describe('is refused with', () => {
  test.each<[string, object, string]>([
    [
      'no request in it',
      withSpec({ request: 'aGk=' }),
      'spec.request: Invalid value: "aGk=": PEM block type must be CERTIFICATE REQUEST',
    ],
    ['no usage', withSpec({ usages: [] }), 'spec.usages: Required value'],
    ['a usage twice', withSpec({ usages: ['any', 'any'] }), 'spec.usages[1]: Duplicate value: "any"'],
    [
      'a signer without a domain',
      withSpec({ signerName: 'me' }),
      'spec.signerName: Invalid value: "me": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
    ],
    [
      'a time too short',
      withSpec({ expirationSeconds: 60 }),
      'spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 600 seconds (10 minutes)',
    ],
  ])('%s', (_, object, fault) => {
    expect(faultsOf(kind, object)).toEqual([fault]);
  });
});

test('does not take a verdict back', () => {
  const old = { ...create(kind, body), status: { conditions: [approved] } };
  expect(kind.validate?.({ ...create(kind, body), status: {} }, old)).toEqual([
    {
      reason: 'FieldValueForbidden',
      field: 'status.conditions',
      message: 'Forbidden: updates may not remove a condition of type "Approved"',
    },
  ]);
  expect(faultsOfUpdate(kind, body, body)).toEqual([]);
});

test.each<[object, string]>([
  [{}, 'Pending'],
  [{ conditions: [approved] }, 'Approved'],
  [{ conditions: [approved], certificate: 'eA==' }, 'Approved,Issued'],
  [{ conditions: [{ type: 'Denied', status: 'True' }] }, 'Denied'],
])('prints %j', (status, condition) => {
  const object = { ...create(kind, withSpec({ expirationSeconds: 3600 })), status };
  expect(cellsOf(kind, object, now)).toEqual(['x', '90s', 'example.com/signer', 'alice', '60m', condition]);
});
