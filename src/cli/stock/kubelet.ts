// Flags of the kubelet of which only one behaviour is supported here, with and without a field in its file.
// Guarantees: with FIELDS of src/kubelet/configuration every flag of kubelet v1.36 is known; flag and field agree.
import { FIXED } from '../../kubelet/configuration/fixed.js';
import type { FixedFlags } from './fixedFlags.js';
import { none } from './sharedFlags.js';

/** The field of each flag in src/kubelet/configuration/fixed.ts. */
const OF_FIELDS: Readonly<Record<string, string>> = {
  'authentication-token-webhook-cache-ttl': 'authentication.webhook.cacheTTL',
  'authorization-webhook-cache-authorized-ttl': 'authorization.webhook.cacheAuthorizedTTL',
  'authorization-webhook-cache-unauthorized-ttl': 'authorization.webhook.cacheUnauthorizedTTL',
  'cgroup-driver': 'cgroupDriver',
  'contention-profiling': 'enableContentionProfiling',
  'cpu-cfs-quota-period': 'cpuCFSQuotaPeriod',
  'cpu-manager-policy': 'cpuManagerPolicy',
  'cpu-manager-policy-options': 'cpuManagerPolicyOptions',
  'cpu-manager-reconcile-period': 'cpuManagerReconcilePeriod',
  'enable-controller-attach-detach': 'enableControllerAttachDetach',
  'enable-server': 'enableServer',
  'enforce-node-allocatable': 'enforceNodeAllocatable',
  'event-burst': 'eventBurst',
  'event-qps': 'eventRecordQPS',
  'fail-cgroupv1': 'failCgroupV1',
  'fail-swap-on': 'failSwapOn',
  'hairpin-mode': 'hairpinMode',
  'image-service-endpoint': 'imageServiceEndpoint',
  'kernel-memcg-notification': 'kernelMemcgNotification',
  'kube-api-burst': 'kubeAPIBurst',
  'kube-api-content-type': 'contentType',
  'kube-api-qps': 'kubeAPIQPS',
  'kube-reserved-cgroup': 'kubeReservedCgroup',
  'kubelet-cgroups': 'kubeletCgroups',
  'local-storage-capacity-isolation': 'localStorageCapacityIsolation',
  'make-iptables-util-chains': 'makeIPTablesUtilChains',
  'manifest-url-header': 'staticPodURLHeader',
  'max-open-files': 'maxOpenFiles',
  'memory-manager-policy': 'memoryManagerPolicy',
  'node-status-max-images': 'nodeStatusMaxImages',
  'pods-per-core': 'podsPerCore',
  'qos-reserved': 'qosReserved',
  'registry-burst': 'registryBurst',
  'registry-qps': 'registryPullQPS',
  'reserved-cpus': 'reservedSystemCPUs',
  'reserved-memory': 'reservedMemory',
  runonce: 'runOnce',
  'runtime-request-timeout': 'runtimeRequestTimeout',
  'streaming-connection-idle-timeout': 'streamingConnectionIdleTimeout',
  'system-cgroups': 'systemCgroups',
  'system-reserved-cgroup': 'systemReservedCgroup',
  'topology-manager-policy': 'topologyManagerPolicy',
  'topology-manager-policy-options': 'topologyManagerPolicyOptions',
  'topology-manager-scope': 'topologyManagerScope',
  'volume-plugin-dir': 'volumePluginDir',
  'volume-stats-agg-period': 'volumeStatsAggPeriod',
};

/** What a flag says where the file has this value. */
const written = (value: unknown): string =>
  typeof value !== 'object' || value === null
    ? String(value)
    : Array.isArray(value)
      ? value.join(',')
      : Object.entries(value)
          .map((pair) => pair.join('='))
          .join(',');

/** Kept apart by field: each has a way of its own. Fields that are gone leave their flag to FIELDS. */
const fieldFlags = (): readonly FixedFlags[] =>
  Object.entries(OF_FIELDS).flatMap(([flag, field]) => {
    const values = FIXED[field];
    return values === undefined
      ? []
      : [{ because: `as ${field} in the file`, flags: { [flag]: values.map(written) } }];
  });

const FLAGS_ALONE: readonly FixedFlags[] = [
  {
    because: 'only one configuration file is supported; give it with --config',
    flags: none('config-dir'),
  },
  {
    because:
      'there is no built-in cloud provider; for a cloud controller manager, set the taint with --register-with-taints',
    flags: none('cloud-provider'),
  },
  {
    because: 'there is no lock file; a second kubelet fails because its port is in use',
    flags: { ...none('lock-file'), 'exit-on-lock-contention': ['false'] },
  },
  {
    because: 'the newest dead instance of each container is kept as long as its pod exists',
    flags: {
      'maximum-dead-containers': ['-1'],
      'maximum-dead-containers-per-container': ['1'],
      'minimum-container-ttl-duration': ['0s'],
    },
  },
  {
    because: 'credential providers are not supported; use imagePullSecrets',
    flags: none('image-credential-provider-bin-dir', 'image-credential-provider-config'),
  },
  {
    because: 'the kubelet mounts volumes itself, and reserves eviction thresholds from what pods can use',
    flags: {
      ...none('experimental-mounter-path', 'runtime-cgroups'),
      'experimental-allocatable-ignore-eviction': ['false'],
    },
  },
  {
    because: 'statistics are read from the control groups on request; there is no cAdvisor to configure',
    flags: {
      'application-metrics-count-limit': ['100'],
      'boot-id-file': ['/proc/sys/kernel/random/boot_id'],
      'container-hints': ['/etc/cadvisor/container_hints.json'],
      containerd: ['/run/containerd/containerd.sock'],
      'containerd-namespace': ['k8s.io'],
      'enable-load-reader': ['false'],
      'event-storage-age-limit': ['default=0'],
      'event-storage-event-limit': ['default=0'],
      'global-housekeeping-interval': ['1m'],
      'housekeeping-interval': ['10s'],
      'log-cadvisor-usage': ['false'],
      'machine-id-file': ['/etc/machine-id,/var/lib/dbus/machine-id'],
      'storage-driver-buffer-duration': ['1m'],
      'storage-driver-db': ['cadvisor'],
      'storage-driver-host': ['localhost:8086'],
      'storage-driver-password': ['root'],
      'storage-driver-secure': ['false'],
      'storage-driver-table': ['stats'],
      'storage-driver-user': ['root'],
    },
  },
];

export const KUBELET: readonly FixedFlags[] = [...fieldFlags(), ...FLAGS_ALONE];
