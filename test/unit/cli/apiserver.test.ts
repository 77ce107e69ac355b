// The flags of `trellis apiserver`: kube-apiserver's names, and what is refused before anything is opened.
import { describe, expect, test } from 'vitest';
import { apiserverCommand } from '../../../src/cli/apiserver/command.js';
import { type ApiServerFlags, auditLevelOf, checkFlags, listOf } from '../../../src/cli/apiserver/flags.js';
import type { Terminal } from '../../../src/cli/terminal.js';

const flags = (changes: Partial<ApiServerFlags>) => changes as ApiServerFlags;

test.each<[string, Partial<ApiServerFlags>, RegExp]>([
  ['a certificate without its key', { tlsCertFile: 'a' }, /--tls-cert-file and --tls-private-key-file/],
  ['a key for kubelets without its certificate', { kubeletClientKey: 'a' }, /--kubelet-client-certificate/],
  ['certificates for no etcd', { etcdCafile: 'a' }, /--etcd-servers/],
  ['a policy for no log', { auditPolicyFile: 'a' }, /--audit-log-path/],
  [
    'keys to verify without one to sign',
    { serviceAccountKeyFile: ['a'] },
    /--service-account-signing-key-file/,
  ],
])('refuses %s', (_, changes, message) => {
  expect(() => checkFlags(flags(changes))).toThrow(message);
});

describe('values', () => {
  test('are read', () => {
    expect(listOf(' a, b,,c')).toEqual(['a', 'b', 'c']);
    expect(listOf(undefined)).toEqual([]);
    expect(auditLevelOf(flags({ auditLevel: 'Request' }))).toBe('Request');
  });
  test('are refused', () => {
    expect(() => auditLevelOf(flags({ auditLevel: 'All' }))).toThrow(/--audit-level/);
  });
});

test('has kube-apiserver’s names', () => {
  const help = apiserverCommand({} as Terminal).helpInformation();
  for (const name of [
    'secure-port',
    'bind-address',
    'tls-cert-file',
    'tls-private-key-file',
    'client-ca-file',
    'service-account-key-file',
    'service-account-signing-key-file',
    'service-account-issuer',
    'service-cluster-ip-range',
    'service-node-port-range',
    'authorization-mode',
    'token-auth-file',
    'authorization-policy-file',
    'basic-auth-file',
    'enable-bootstrap-token-auth',
    'anonymous-auth',
    'enable-admission-plugins',
    'disable-admission-plugins',
    'audit-log-path',
    'audit-policy-file',
    'max-requests-inflight',
    'max-mutating-requests-inflight',
    'kubelet-client-certificate',
    'kubelet-client-key',
    'kubelet-certificate-authority',
    'etcd-servers',
    'etcd-cafile',
    'etcd-certfile',
    'etcd-keyfile',
    'data-dir',
    'insecure-port',
  ])
    expect(help).toContain(`--${name}`);
});
