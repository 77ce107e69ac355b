// What each signer may be asked for, which requests are approved by themselves, and when one is taken away.
import { describe, expect, test } from 'vitest';
import { groundOf } from '../../../src/controllers/certificates/approving.js';
import { isOutdated } from '../../../src/controllers/certificates/cleaning.js';
import type { CertificateRequest } from '../../../src/controllers/certificates/conditions.js';
import type { RequestedCertificate } from '../../../src/controllers/certificates/request.js';
import { lifetimeMs } from '../../../src/controllers/certificates/sign.js';
import { SIGNERS } from '../../../src/controllers/certificates/signers.js';

const NODE: RequestedCertificate = {
  commonName: 'system:node:a',
  organizations: ['system:nodes'],
  dnsNames: [],
  ipAddresses: [],
  emails: [],
  uris: [],
};
const CLIENT_USAGES = ['digital signature', 'client auth'];
const SERVER_USAGES = ['digital signature', 'key encipherment', 'server auth'];

describe('signers', () => {
  test.each<[string, Partial<RequestedCertificate>, readonly string[], string | undefined]>([
    ['kube-apiserver-client', { commonName: 'eve' }, ['client auth'], undefined],
    ['kube-apiserver-client', {}, ['server auth'], 'usages did not match'],
    ['kube-apiserver-client', {}, ['client auth', 'server auth'], 'usages did not match'],
    ['kube-apiserver-client-kubelet', {}, CLIENT_USAGES, undefined],
    ['kube-apiserver-client-kubelet', {}, [...CLIENT_USAGES, 'key encipherment'], undefined],
    ['kube-apiserver-client-kubelet', {}, ['client auth'], 'usages did not match'],
    ['kube-apiserver-client-kubelet', { dnsNames: ['a'] }, CLIENT_USAGES, 'DNS subjectAltNames'],
    ['kube-apiserver-client-kubelet', { organizations: [] }, CLIENT_USAGES, 'organization is not'],
    ['kube-apiserver-client-kubelet', { commonName: 'a' }, CLIENT_USAGES, 'CN does not start with'],
    ['kubelet-serving', { ipAddresses: ['10.0.0.1'] }, SERVER_USAGES, undefined],
    ['kubelet-serving', {}, SERVER_USAGES, 'at least one DNS or IP'],
    ['kubelet-serving', { dnsNames: ['a'], uris: ['spiffe://a'] }, SERVER_USAGES, 'URI subjectAltNames'],
    ['kubelet-serving', { dnsNames: ['a'] }, CLIENT_USAGES, 'usages did not match'],
    ['legacy-unknown', { commonName: 'anything' }, ['any'], undefined],
  ])('%s of %j for %j', (signer, asked, usages, fault) => {
    const found = SIGNERS.get(`kubernetes.io/${signer}`)?.({ ...NODE, ...asked }, usages);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(fault);
  });
});

describe('grounds of approval', () => {
  const spec = (username: string, usages = CLIENT_USAGES) => ({
    request: '',
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages,
    username,
  });
  test.each([
    ["a node's own", spec('system:node:a'), 'selfnodeclient'],
    ["another's", spec('system:bootstrap:abcdef'), 'nodeclient'],
    ['none for what would not be signed', spec('system:node:a', ['server auth']), undefined],
  ])('%s', (_, asked, subresource) => {
    expect(groundOf(NODE, asked)?.subresource).toBe(subresource);
  });
});

describe('lifetime', () => {
  test.each([
    [undefined, 3_600_000],
    [1_800, 1_800_000],
    [60, 600_000],
    [7_200, 3_600_000],
  ])('of %s seconds asked', (seconds, ms) => {
    expect(lifetimeMs(3_600_000, seconds)).toBe(ms);
  });
});

describe('clean-up', () => {
  const NOW = Date.parse('2026-01-02T12:00:00Z');
  const ago = (hours: number) => new Date(NOW - hours * 3_600_000).toISOString();
  const request = (createdHours: number, verdict?: [type: string, hours: number]) =>
    ({
      metadata: { name: 'r', uid: 'u', resourceVersion: '1', creationTimestamp: ago(createdHours) },
      spec: { request: '', signerName: 'a.b/c' },
      status:
        verdict === undefined
          ? {}
          : { conditions: [{ type: verdict[0], status: 'True', lastUpdateTime: ago(verdict[1]) }] },
    }) as unknown as CertificateRequest;
  test.each([
    ['young and open', request(23), false],
    ['open for more than a day', request(25), true],
    ['approved just now', request(30, ['Approved', 0.5]), false],
    ['approved more than an hour ago', request(30, ['Approved', 1.5]), true],
    ['denied more than an hour ago', request(2, ['Denied', 1.5]), true],
    ['failed more than an hour ago', request(2, ['Failed', 1.5]), true],
  ])('%s', (_, one, outdated) => {
    expect(isOutdated(one, NOW)).toBe(outdated);
  });
});
