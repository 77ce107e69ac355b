// The finer checks of pods: where they run, what they may do, what their containers see.
import { describe, expect, test } from 'vitest';
import { podKind } from '../../../../src/api/kinds/pod.js';
import { faultsOf } from './support.js';

const metadata = { name: 'p', namespace: 'default' };
const pod = (spec: object) => ({ metadata, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } });
const container = (fields: object) => pod({ containers: [{ name: 'c', image: 'i', ...fields }] });
const security = (securityContext: object) => pod({ securityContext });
const node = (term: object) => {
  const rule = { nodeSelectorTerms: [term] };
  return pod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: rule } } });
};
const apart = (term: object) =>
  pod({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } });
const spread = (fields: object) =>
  pod({
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}, ...fields },
    ],
  });
const volumes = [{ name: 'v' }];
const fromFile = (fileKeyRef: object) => ({ name: 'A', valueFrom: { fileKeyRef } });

describe('a pod is refused with', () => {
  test.each<[string, object, string]>([
    [
      'a node that need not have anything',
      pod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: {} } } }),
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
    ],
    [
      'no values to be in',
      node({ matchExpressions: [{ key: 'a', operator: 'In' }] }),
      "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
    [
      'a field of nodes that cannot be asked',
      node({ matchFields: [{ key: 'spec.x', operator: 'In', values: ['a'] }] }),
      'matchFields[0].key: Invalid value: "spec.x": not a valid field selector key',
    ],
    ['pods to avoid, nowhere', apart({ labelSelector: {} }), 'topologyKey: Required value: can not be empty'],
    ['no skew at all', spread({ maxSkew: 0 }), 'maxSkew: Invalid value: 0: must be greater than zero'],
    [
      'domains for a mere wish',
      spread({ whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 }),
      'can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
    ],
    [
      'an open /proc with the users of the node',
      container({ securityContext: { procMount: 'Unmasked' } }),
      'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
    ],
    [
      'huge pages and nothing else',
      container({ resources: { limits: { 'hugepages-2Mi': '4Mi' } } }),
      'spec.containers[0].resources: Forbidden: HugePages require cpu or memory',
    ],
    [
      'half a huge page',
      container({ resources: { limits: { cpu: '1', 'hugepages-2Mi': '3Mi' } } }),
      'spec.containers[0].resources: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    ],
    [
      'huge pages without a limit',
      container({ resources: { requests: { cpu: '1', 'hugepages-2Mi': '4Mi' } } }),
      'spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources',
    ],
    [
      'a signal to stop by and no system to know it',
      container({ lifecycle: { stopSignal: 'SIGUSR1' } }),
      'spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`',
    ],
    [
      'a signal that Linux does not have',
      pod({
        os: { name: 'linux' },
        containers: [{ name: 'c', image: 'i', lifecycle: { stopSignal: 'SIGRTMAX-15' } }],
      }),
      'spec.containers[0].lifecycle.stopSignal: Unsupported value: "SIGRTMAX-15"',
    ],
    [
      'a signal that Windows does not have',
      pod({
        os: { name: 'windows' },
        containers: [{ name: 'c', image: 'i', lifecycle: { stopSignal: 'SIGUSR1' } }],
      }),
      'Unsupported value: "SIGUSR1": supported values: "SIGKILL", "SIGTERM"',
    ],
    [
      'a variable from a file of no volume',
      container({ env: [fromFile({ volumeName: 'none', path: 'a', key: 'A' })] }),
      'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "none"',
    ],
    [
      'a variable from a file that no container writes',
      pod({
        volumes: [{ name: 'v', configMap: { name: 'c' } }],
        containers: [{ name: 'c', image: 'i', env: [fromFile({ volumeName: 'v', path: 'a', key: 'A' })] }],
      }),
      'referenced volume must be of type emptyDir',
    ],
    [
      'a variable from a file outside',
      container({ env: [fromFile({ volumeName: 'v', path: '../a', key: 'A' })] }),
      'fileKeyRef.path: Invalid value: "../a": must not contain \'..\'',
    ],
    [
      'a variable from a file without a key',
      container({ env: [fromFile({ volumeName: 'v', path: 'a', key: '' })] }),
      'fileKeyRef.key: Required value',
    ],
    [
      'an image volume of no image',
      pod({ volumes: [{ name: 'v', image: {} }] }),
      'spec.volumes[0].image.reference: Required value',
    ],
    [
      'an image volume with a policy of its own making',
      pod({ volumes: [{ name: 'v', image: { reference: 'a', pullPolicy: 'Daily' } }] }),
      'spec.volumes[0].image.pullPolicy: Unsupported value: "Daily"',
    ],
    [
      'rules of restarting and no policy beside them',
      container({ restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] }),
      'spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used',
    ],
    [
      'a rule that does what nobody knows',
      container({
        restartPolicy: 'Never',
        restartPolicyRules: [{ action: 'Explode', exitCodes: { operator: 'In', values: [1] } }],
      }),
      'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Explode": supported values: "Restart", "RestartAllContainers"',
    ],
    [
      'a rule for no exit code',
      container({ restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart' }] }),
      'restartPolicyRules[0].exitCodes: Required value: must be specified',
    ],
    [
      'four nameservers',
      pod({ dnsConfig: { nameservers: ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'] } }),
      'must not have more than 3 nameservers',
    ],
    [
      'a nameserver that is none',
      pod({ dnsConfig: { nameservers: ['x'] } }),
      'spec.dnsConfig.nameservers[0]: Invalid value',
    ],
    [
      'a sysctl without a name',
      security({ sysctls: [{ value: '1' }] }),
      'spec.securityContext.sysctls[0].name: Required value',
    ],
    [
      'a sysctl that ends in a dash',
      security({ sysctls: [{ name: 'foo-', value: '1' }] }),
      'spec.securityContext.sysctls[0].name: Invalid value: "foo-"',
    ],
    [
      "a setting of the node's network",
      pod({ hostNetwork: true, securityContext: { sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }] } }),
      "may not be specified when 'hostNetwork' is true",
    ],
    [
      'a profile without a path',
      security({ seccompProfile: { type: 'Localhost' } }),
      'spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost ',
    ],
    [
      'a path out of its directory',
      security({ seccompProfile: { type: 'Localhost', localhostProfile: '../x' } }),
      "must not contain '..'",
    ],
    [
      'an AppArmor profile that is none',
      container({ securityContext: { appArmorProfile: { type: 'Odd' } } }),
      'securityContext.appArmorProfile.type: Unsupported value: "Odd"',
    ],
    [
      'a user below zero',
      security({ supplementalGroups: [-1] }),
      'must be between 0 and 2147483647, inclusive',
    ],
    [
      'one process namespace too many',
      pod({ shareProcessNamespace: true, hostPID: true }),
      'ShareProcessNamespace and HostPID cannot both be enabled',
    ],
    [
      'a privilege given and taken',
      container({
        securityContext: { allowPrivilegeEscalation: false, capabilities: { add: ['CAP_SYS_ADMIN'] } },
      }),
      'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
    ],
    [
      'an alias that is no address',
      pod({ hostAliases: [{ ip: 'x', hostnames: ['a.b'] }] }),
      'spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address',
    ],
    [
      'an overriding hostname beside the full one',
      pod({ hostnameOverride: 'a.b', setHostnameAsFQDN: true }),
      'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
    ],
    [
      "an overriding hostname in the node's network",
      pod({ hostnameOverride: 'a.b', hostNetwork: true }),
      'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
    ],
    [
      'a long overriding hostname',
      pod({ hostnameOverride: 'a'.repeat(65) }),
      'spec.hostnameOverride: Too long: may not be more than 64 bytes',
    ],
    [
      'an overriding hostname that is none',
      pod({ hostnameOverride: 'Not_Valid' }),
      'spec.hostnameOverride: Invalid value: "Not_Valid": a lowercase RFC 1123 subdomain must consist of',
    ],
    [
      'an empty overriding hostname',
      pod({ hostnameOverride: '' }),
      'spec.hostnameOverride: Invalid value: "": a lowercase RFC 1123 subdomain must consist of',
    ],
    [
      'a gate and a node',
      pod({ nodeName: 'n', schedulingGates: [{ name: 'g' }] }),
      'spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
    ],
    ['an unknown system', pod({ os: { name: 'plan9' } }), 'spec.os.name: Unsupported value: "plan9"'],
    [
      'a port that is another on the node',
      pod({
        hostNetwork: true,
        containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort: 81 }] }],
      }),
      'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
    ],
    [
      'a variable of a field that is none',
      container({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.mood' } } }] }),
      'error converting fieldPath: field label not supported: spec.mood',
    ],
    [
      'variables from nowhere',
      container({ envFrom: [{}] }),
      'spec.containers[0].envFrom[0]: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
    ],
    [
      'mounts shown to the node by anyone',
      pod({
        volumes,
        containers: [
          {
            name: 'c',
            image: 'i',
            volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
          },
        ],
      }),
      'Bidirectional mount propagation is available only to privileged containers',
    ],
    [
      'a device where a mount is',
      pod({
        volumes,
        containers: [
          {
            name: 'c',
            image: 'i',
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
            volumeDevices: [{ name: 'v', devicePath: '/v' }],
          },
        ],
      }),
      'must not already exist as a path in volumeMounts',
    ],
    [
      'a claim that the pod has not',
      container({ resources: { claims: [{ name: 'gpu' }] } }),
      'spec.containers[0].resources.claims[0].name: Not found: "gpu"',
    ],
    [
      'an ephemeral container from the start',
      pod({ ephemeralContainers: [{ name: 'e', image: 'i' }] }),
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
    [
      'an ephemeral container that promises a port',
      pod({ ephemeralContainers: [{ name: 'e', image: 'i', ports: [{ containerPort: 80 }] }] }),
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
    ],
    [
      'an ephemeral container that looks at nobody',
      pod({ ephemeralContainers: [{ name: 'e', image: 'i', targetContainerName: 'x' }] }),
      'spec.ephemeralContainers[0].targetContainerName: Not found: "x"',
    ],
    [
      'a grace for not being ready',
      container({ readinessProbe: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 5 } }),
      'must not be set for readinessProbes',
    ],
    [
      'a header that is none',
      container({ livenessProbe: { httpGet: { port: 80, httpHeaders: [{ name: 'a b', value: '' }] } } }),
      'httpGet.httpHeaders[0]: Invalid value: "a b": a valid HTTP header must consist of',
    ],
  ])('%s', (_, body, fault) => {
    expect(faultsOf(podKind, body)).toEqual(expect.arrayContaining([expect.stringContaining(fault)]));
  });
});

test('takes a pod that uses all of it well', () => {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { a: 'b' } } };
  const well = pod({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'cores', operator: 'Gt', values: ['3'] }] },
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] },
          ],
        },
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }],
      },
    },
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
    dnsPolicy: 'None',
    dnsConfig: {
      nameservers: ['10.0.0.1'],
      searches: ['ns.svc.cluster.local', '.', '_sip._tcp.a_b.local.'],
      options: [{ name: 'ndots' }],
    },
    securityContext: {
      sysctls: [{ name: 'net.core.somaxconn', value: '1' }],
      seccompProfile: { type: 'RuntimeDefault' },
    },
    hostAliases: [{ ip: '127.0.0.1', hostnames: ['foo.local'] }],
    readinessGates: [{ conditionType: 'example.com/ready' }],
    containers: [
      {
        name: 'c',
        image: 'i',
        env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } }],
        envFrom: [{ configMapRef: { name: 'c' } }],
        lifecycle: { preStop: { sleep: { seconds: 1 } } },
      },
    ],
  });
  expect(faultsOf(podKind, well)).toEqual([]);
});

test('judges hostile lists in bounded time', () => {
  const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}`);
  const term = { topologyKey: 't', labelSelector: {}, matchLabelKeys: keys, mismatchLabelKeys: keys };
  expect(faultsOf(podKind, apart(term))).toHaveLength(1000);
});
