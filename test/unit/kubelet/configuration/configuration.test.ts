import { describe, expect, test } from 'vitest';
import { completeConfig } from '../../../../src/kubelet/config.js';
import { readSettings } from '../../../../src/kubelet/configuration/configuration.js';
import { FIELDS } from '../../../../src/kubelet/configuration/fields.js';
import { configz } from '../../../../src/kubelet/server/configz.js';

const file = (body: string) => ({
  name: 'config.yaml',
  text: `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${body}`,
});
const read = (body: string, flags: Record<string, string> = {}) => readSettings({ file: file(body), flags });

describe('a KubeletConfiguration', () => {
  test('fields and flags become settings; a flag wins over the file', () => {
    const { kubelet, server } = read(
      `
maxPods: 20
syncFrequency: 1m30s
clusterDNS: [10.96.0.10]
evictionHard: { memory.available: 5%, nodefs.available: 1Gi }
evictionSoft: { memory.available: 10% }
evictionSoftGracePeriod: { memory.available: 2m }
containerLogMaxSize: 1Mi
cgroupDriver: cgroupfs
authentication: { anonymous: { enabled: false }, webhook: { enabled: false, cacheTTL: 2m0s }, x509: { clientCAFile: /ca.crt } }
authorization: { mode: AlwaysAllow }
registerWithTaints: [{ key: a, effect: NoSchedule }]
`,
      {
        'max-pods': '30',
        'node-labels': 'a=b,c=',
        'hostname-override': 'n1',
        'eviction-hard': 'memory.available<1Gi',
      },
    );
    expect(kubelet).toEqual({
      nodeName: 'n1',
      nodeLabels: { a: 'b', c: '' },
      maxPods: 30,
      syncFrequencyMs: 90_000,
      clusterDNS: ['10.96.0.10'],
      evictionHard: { 'memory.available': '1Gi' },
      evictionSoft: { 'memory.available': '10%' },
      evictionSoftGrace: { 'memory.available': 120_000 },
      containerLogMaxBytes: 1_048_576,
      registerWithTaints: [{ key: 'a', effect: 'NoSchedule' }],
    });
    expect(server).toMatchObject({
      clientCAFile: '/ca.crt',
      tokenWebhook: false,
      authorizationMode: 'AlwaysAllow',
    });
  });

  test('how readily the kernel ends the kubelet comes from file or flag, and is hardly at all otherwise', () => {
    expect(read('').server.oomScoreAdj).toBe(-999);
    expect(read('oomScoreAdj: -500').server.oomScoreAdj).toBe(-500);
    expect(read('oomScoreAdj: -500', { 'oom-score-adj': '7' }).server.oomScoreAdj).toBe(7);
    expect(() => read('oomScoreAdj: -1001')).toThrow('oomScoreAdj');
  });

  test('the form of the log and how much it says come from the file; the rest of logging is as it is', () => {
    const { server } = read('logging: { format: json, verbosity: 4, flushFrequency: 5s }');
    expect(server).toMatchObject({ loggingFormat: 'json', logVerbosity: 4 });
    expect(() => read('logging: { flushFrequency: 1s }')).toThrow(
      'logging.flushFrequency: "1s" is not supported',
    );
    expect(read('logging: { format: json }', { 'logging-format': 'text' }).server.loggingFormat).toBe('text');
    expect(() => read('logging: { format: xml }')).toThrow('logging.format: "xml" is not one of text, json');
  });

  test.each([
    ['an unknown field', 'maxPod: 1', 'config.yaml: unknown field "maxPod"'],
    [
      'an unknown field further in',
      'authentication: { x509: { file: a } }',
      'config.yaml: unknown field "authentication.x509.file"',
    ],
    [
      'a wrong type',
      'maxPods: many',
      'config.yaml: maxPods: "many" is not a whole number from 0 to 2147483647',
    ],
    [
      'a duration without a unit',
      'syncFrequency: 10',
      'config.yaml: syncFrequency: 10 is not a duration such as 10s or 1m30s',
    ],
    [
      'a quantity that is none',
      'systemReserved: { cpu: lots }',
      'config.yaml: systemReserved: {"cpu":"lots"} is not a map of quantities',
    ],
    ['an object that should be one', 'authentication: yes', 'config.yaml: authentication: is not an object'],
    [
      'a path that is not absolute',
      'staticPodPath: manifests',
      'config.yaml: staticPodPath: "manifests" is not an absolute path',
    ],
    [
      'a key without its certificate',
      'tlsPrivateKeyFile: /k',
      'tlsCertFile, tlsPrivateKeyFile: a certificate and its key belong together',
    ],
  ])('%s is refused by its name', (_, body, message) => {
    expect(() => read(body)).toThrow(message);
  });

  test.each([
    [
      'another kind',
      'apiVersion: v1\nkind: Pod',
      'apiVersion: must be kubelet.config.k8s.io/v1beta1, not "v1"',
    ],
    ['no YAML', 'a: [', 'config.yaml: '],
    ['a list', '- 1', 'config.yaml: is not an object'],
  ])('%s is refused', (_, text, message) => {
    expect(() => readSettings({ file: { name: 'config.yaml', text }, flags: {} })).toThrow(message);
  });

  test('a wrong flag is refused by its name', () => {
    expect(() => read('', { 'max-pods': '1.5' })).toThrow('--max-pods: "1.5" is not a whole number');
    expect(() => read('', { 'register-with-taints': 'a' })).toThrow(
      '--register-with-taints: "a" is not a list of taints',
    );
  });

  test('a soft threshold needs its grace period, and a signal must be known', () => {
    const complete = (body: string) => completeConfig({ nodeName: 'n', ...read(body).kubelet });
    expect(() => complete('evictionSoft: { memory.available: 1Gi }')).toThrow(
      'evictionSoftGracePeriod: nothing is said for the soft threshold of memory.available',
    );
    expect(() => complete('evictionHard: { memory.free: 1Gi }')).toThrow(
      'unknown eviction signal memory.free',
    );
    expect(() => complete('imageGCLowThresholdPercent: 90')).toThrow(
      'imageGCLowThresholdPercent: 90 is not below',
    );
  });

  test('every field has one name in the file and one on the command line', () => {
    const names = (read: (field: (typeof FIELDS)[number]) => string | undefined) =>
      FIELDS.map(read).filter((name) => name !== undefined);
    expect(new Set(names(({ path }) => path)).size).toBe(names(({ path }) => path).length);
    expect(new Set(names(({ flag }) => flag)).size).toBe(names(({ flag }) => flag).length);
  });

  test('what is in use reads back as a configuration of the same meaning', () => {
    const config = completeConfig({
      nodeName: 'n',
      ...read(
        'syncFrequency: 1m30s\nevictionSoft: { pid.available: 5% }\nevictionSoftGracePeriod: { pid.available: 1m }',
      ).kubelet,
    });
    const again = readSettings({
      file: { name: 'configz', text: JSON.stringify(configz(config)) },
      flags: {},
    });
    expect(completeConfig({ nodeName: 'n', ...again.kubelet })).toEqual(config);
  });
});
