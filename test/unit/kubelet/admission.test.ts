import { describe, expect, test } from 'vitest';
import type { V1PodSpec } from '../../../src/api/gen/types.js';
import { type NodeFacts, refusalOf } from '../../../src/kubelet/admission.js';
import type { Pod } from '../../../src/kubelet/ports.js';
import { container, podOf } from './support.js';

const node: NodeFacts = {
  name: 'node-1',
  labels: { disk: 'ssd' },
  taints: [{ key: 'gpu', value: 'yes', effect: 'NoExecute' }],
  allocatable: { cpu: '2', memory: '1Gi', pods: '3' },
  hasAppArmor: false,
  hasStrictGroups: false,
};
const tolerations = [{ operator: 'Exists' }];
const asking = (requests: Record<string, string>, more: Partial<V1PodSpec> = {}) =>
  podOf({ tolerations, containers: [container('web', { resources: { requests } })], ...more });
const withPort = (hostPort: number, hostIP?: string) =>
  podOf({
    tolerations,
    containers: [
      container('web', {
        ports: [{ containerPort: 80, hostPort, ...(hostIP === undefined ? {} : { hostIP }) }],
      }),
    ],
  });
const confined = (type: string) =>
  podOf({
    tolerations,
    containers: [container('web', { securityContext: { appArmorProfile: { type } } })],
  });
const affinity = (key: string, value: string) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: [value] }] }],
    },
  },
});
const others = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    ...asking({}),
    metadata: { ...podOf().metadata, uid: `o${index}` },
  }));

describe('what a node takes', () => {
  test.each<[string, Pod, readonly Pod[], string | undefined]>([
    ['a pod that fits', asking({ cpu: '2', memory: '1Gi' }), [], undefined],
    ['too much cpu', asking({ cpu: '1500m' }), [asking({ cpu: '600m' })], 'OutOfcpu'],
    ['too much memory', asking({ memory: '2Gi' }), [], 'OutOfmemory'],
    ['huge pages that it has too few of', asking({ 'hugepages-2Mi': '2Mi' }), [], 'OutOfhugepages-2Mi'],
    ['one pod too many', asking({}), others(3), 'OutOfpods'],
    ['a selector that matches', asking({}, { nodeSelector: { disk: 'ssd' } }), [], undefined],
    ['a selector that does not', asking({}, { nodeSelector: { disk: 'hdd' } }), [], 'NodeAffinity'],
    ['a node it must have', asking({}, { affinity: affinity('disk', 'ssd') }), [], undefined],
    ['a node it must not have', asking({}, { affinity: affinity('disk', 'hdd') }), [], 'NodeAffinity'],
    ['a taint that is not tolerated', podOf(), [], 'TaintToleration'],
    ['a profile that is not enforced here', confined('RuntimeDefault'), [], 'AppArmor'],
    ['a profile that asks for nothing', confined('Unconfined'), [], undefined],
    ['another system', asking({}, { os: { name: 'windows' } }), [], 'PodOSNotSupported'],
    ['this system', asking({}, { os: { name: 'linux' } }), [], undefined],
    [
      'a label of another system',
      { ...asking({}), metadata: { ...podOf().metadata, labels: { 'kubernetes.io/os': 'windows' } } },
      [],
      'PodOSSelectorNodeLabelDoesNotMatch',
    ],
    [
      'groups that the runtime cannot leave out',
      asking({}, { securityContext: { supplementalGroupsPolicy: 'Strict' } }),
      [],
      'SupplementalGroupsPolicyNotSupported',
    ],
    ['a port that is free', withPort(8080), [withPort(8081)], undefined],
    ['a port that is taken', withPort(8080), [withPort(8080)], 'NodePorts'],
    ['a port on another address', withPort(80, '10.0.0.1'), [withPort(80, '10.0.0.2')], undefined],
    ['a port that all addresses have', withPort(80, '10.0.0.1'), [withPort(80)], 'NodePorts'],
    [
      'a safe sysctl',
      asking({}, { securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] } }),
      [],
      undefined,
    ],
    [
      'a sysctl of the node',
      asking({}, { securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '1' }] } }),
      [],
      'SysctlForbidden',
    ],
  ])('%s', (_, pod, taken, reason) => {
    expect(refusalOf(pod, taken, node)?.reason).toBe(reason);
  });

  test('a refusal counts in words that kubectl users know', () => {
    expect(refusalOf(asking({ cpu: '4' }), [asking({ cpu: '100m' })], node)?.message).toBe(
      "Node didn't have enough resource: cpu, requested: 4000, used: 100, capacity: 2000",
    );
  });

  test('a static pod does not mind taints', () => {
    const pod = podOf({}, { annotations: { 'kubernetes.io/config.source': 'file' } });
    expect(refusalOf(pod, [], node)).toBeUndefined();
  });
});
