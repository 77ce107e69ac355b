// Nothing in a KubeletConfiguration is ignored: what agrees with this kubelet is taken, everything else is refused by name.
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../../../src/kubelet/configuration/configuration.js';
import { FIELDS } from '../../../../src/kubelet/configuration/fields.js';
import { FIXED } from '../../../../src/kubelet/configuration/fixed.js';

const read = (fields: object) =>
  readSettings({
    file: {
      name: 'config.yaml',
      text: JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        ...fields,
      }),
    },
    flags: {},
  });
/** `a.b.c` as objects in one another. */
const at = (path: string, value: unknown): object =>
  path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

describe.each(Object.entries(FIXED))('%s', (path, values) => {
  test.each(values.map((value) => [JSON.stringify(value), value]))(
    '%s is what is done anyway',
    (_, value) => {
      expect(read(at(path, value)).kubelet).toEqual({});
    },
  );
  test('anything else is refused with field and value', () => {
    expect(() => read(at(path, 'something-else'))).toThrow(`config.yaml: ${path}:`);
    expect(() => read(at(path, 'something-else'))).toThrow(/something-else|is not an object/);
  });
  test('is in one list alone', () => {
    expect(FIELDS.map((field) => field.path)).not.toContain(path);
  });
});

test('the file that kubeadm writes by default is taken, its zeros as the defaults', () => {
  const { kubelet, server } = read({
    authentication: {
      anonymous: { enabled: false },
      webhook: { cacheTTL: '0s', enabled: true },
      x509: { clientCAFile: '/etc/kubernetes/pki/ca.crt' },
    },
    authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '0s', cacheUnauthorizedTTL: '0s' } },
    cgroupDriver: 'systemd',
    clusterDNS: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    containerRuntimeEndpoint: '',
    cpuManagerReconcilePeriod: '0s',
    crashLoopBackOff: {},
    evictionPressureTransitionPeriod: '0s',
    fileCheckFrequency: '0s',
    healthzBindAddress: '127.0.0.1',
    healthzPort: 10248,
    httpCheckFrequency: '0s',
    imageMaximumGCAge: '0s',
    imageMinimumGCAge: '0s',
    logging: {
      flushFrequency: 0,
      options: { json: { infoBufferSize: '0' }, text: { infoBufferSize: '0' } },
      verbosity: 0,
    },
    memorySwap: {},
    nodeStatusReportFrequency: '0s',
    nodeStatusUpdateFrequency: '0s',
    rotateCertificates: true,
    runtimeRequestTimeout: '0s',
    shutdownGracePeriod: '0s',
    shutdownGracePeriodCriticalPods: '0s',
    staticPodPath: '/etc/kubernetes/manifests',
    streamingConnectionIdleTimeout: '0s',
    syncFrequency: '0s',
    volumeStatsAggPeriod: '0s',
  });
  expect(kubelet).toEqual({
    clusterDNS: ['10.96.0.10'],
    clusterDomain: 'cluster.local',
    healthzBindAddress: '127.0.0.1',
    healthzPort: 10248,
    imageMaximumGCAge: 0,
    shutdownGracePeriod: 0,
    shutdownGracePeriodCriticalPods: 0,
    staticPodPath: '/etc/kubernetes/manifests',
  });
  expect(server).toMatchObject({
    rotateCertificates: true,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  });
});

test('the fields of security are settings', () => {
  const given = {
    seccompDefault: true,
    protectKernelDefaults: true,
    enableDebuggingHandlers: false,
    tlsMinVersion: 'VersionTLS13',
    tlsCipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'],
    imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
    preloadedImagesVerificationAllowlist: ['registry.example.com/base/*'],
  };
  expect(read(given).kubelet).toEqual(given);
  expect(() => read({ tlsMinVersion: 'VersionTLS10' })).toThrow(
    /tlsMinVersion: "VersionTLS10" is not one of/,
  );
  expect(read({ imagePullCredentialsVerificationPolicy: '' }).kubelet).toEqual({});
  expect(() => read({ imagePullCredentialsVerificationPolicy: 'Sometimes' })).toThrow(/NeverVerify/);
  expect(() => read({ tlsCipherSuites: ['TLS_RSA_WITH_RC4_128_SHA'] })).toThrow(/TLS_RSA_WITH_RC4_128_SHA/);
});
