// The sandbox of a pod as CRI asks for it: names, network, DNS, namespaces, host ports. Pure.
// Guarantees: a pod, an attempt and a node give one configuration, also after a restart of the kubelet.
import type { IdMapping, PodSandboxConfig } from '../../cri/runtime.js';
import { domainOf, hostnameOf } from '../environment/hostsFile.js';
import { podLabels } from '../names.js';
import type { Pod } from '../ports.js';
import { type MachineLimits, sandboxResources } from '../resources.js';
import { sandboxSecurity } from './security.js';

interface SandboxDependencies {
  readonly attempt: number;
  readonly podLogsDir: string;
  /** Empty when pods have no control group of their own. */
  readonly cgroupParent: string;
  readonly clusterDomain: string;
  /** Of a pod that has its own users. */
  readonly ids?: IdMapping | undefined;
  readonly dns: NonNullable<PodSandboxConfig['dnsConfig']>;
  readonly machine: Pick<MachineLimits, 'cpuCFSQuota'>;
}

export function sandboxConfig(pod: Pod, around: SandboxDependencies): PodSandboxConfig {
  const { name, uid, namespace = 'default', annotations } = pod.metadata;
  const sysctls = pod.spec.securityContext?.sysctls ?? [];
  return {
    metadata: { name, uid, namespace, attempt: around.attempt },
    hostname: pod.spec.hostNetwork === true ? '' : hostName(pod, around.clusterDomain),
    logDirectory: podLogDirectory(around.podLogsDir, pod),
    dnsConfig: around.dns,
    portMappings: portMappings(pod),
    labels: podLabels(pod),
    annotations: annotations ?? {},
    linux: {
      cgroupParent: around.cgroupParent,
      securityContext: sandboxSecurity(pod, around.ids),
      sysctls: Object.fromEntries(sysctls.map((one) => [one.name, one.value])),
      ...sandboxResources(pod.spec, around.machine),
    },
  };
}

/** `<podLogsDir>/<namespace>_<name>_<uid>`, where log collectors look. */
export function podLogDirectory(podLogsDir: string, { metadata }: Pick<Pod, 'metadata'>): string {
  return `${podLogsDir}/${metadata.namespace ?? 'default'}_${metadata.name}_${metadata.uid}`;
}

/** The host name inside the pod: short, or with its domain where setHostnameAsFQDN asks for it. */
export function hostName(pod: Pod, clusterDomain: string): string {
  const short = hostnameOf(pod);
  const domain = pod.spec.setHostnameAsFQDN === true ? domainOf(pod, clusterDomain) : '';
  return domain === '' ? short : `${short}.${domain}`;
}

function portMappings(pod: Pod): NonNullable<PodSandboxConfig['portMappings']> {
  if (pod.spec.hostNetwork === true) return [];
  const containers = [
    ...(pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always'),
    ...pod.spec.containers,
  ];
  return containers
    .flatMap(({ ports }) => ports ?? [])
    .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0)
    .map(({ protocol, containerPort, hostPort, hostIP }) => ({
      protocol: protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP',
      containerPort,
      hostPort: hostPort ?? 0,
      hostIp: hostIP ?? '',
    }));
}
