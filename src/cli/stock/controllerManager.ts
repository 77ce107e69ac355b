// Flags of kube-controller-manager of which only one behaviour is supported here.
// Guarantees: with those of src/cli/controllerManager/flags.ts every flag of kube-controller-manager v1.36 is known.
import type { FixedFlags, ToldFlags } from './fixedFlags.js';
import { CONTROL_LOOP, none, REQUEST_HEADERS } from './sharedFlags.js';

const SIGNERS = ['kube-apiserver-client', 'kubelet-client', 'kubelet-serving', 'legacy-unknown'];

const VOLUMES: readonly FixedFlags[] = [
  {
    because: 'attaching and detaching volumes is not supported',
    flags: {
      'attach-detach-reconcile-sync-period': ['1m'],
      'disable-attach-detach-reconcile-sync': ['false', 'true'],
      'disable-force-detach-on-timeout': ['true'],
    },
  },
  {
    because: 'the provisioner of a StorageClass provisions its claims; recycling is not supported',
    flags: {
      ...none('pv-recycler-pod-template-filepath-hostpath', 'pv-recycler-pod-template-filepath-nfs'),
      'enable-dynamic-provisioning': ['true'],
      'enable-hostpath-provisioner': ['false'],
      'pv-recycler-increment-timeout-nfs': ['30'],
      'pv-recycler-minimum-timeout-hostpath': ['60'],
      'pv-recycler-minimum-timeout-nfs': ['300'],
      'pv-recycler-timeout-increment-hostpath': ['30'],
    },
  },
  {
    because: 'FlexVolumes are not supported',
    flags: {
      'flex-volume-plugin-dir': ['', '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/'],
    },
  },
];

const CLOUD: readonly FixedFlags[] = [
  {
    because: 'there is no built-in cloud provider; run a cloud controller manager',
    flags: {
      ...none('cloud-config', 'external-cloud-volume-plugin'),
      'allow-untagged-cloud': ['false'],
      'cidr-allocator-type': ['RangeAllocator'],
      'cloud-provider': ['', 'external'],
      'cluster-name': ['', 'kubernetes'],
      'configure-cloud-routes': ['false', 'true'],
      'node-sync-period': ['0s'],
      'route-reconciliation-period': ['10s'],
    },
  },
  {
    because: 'leader migration is not supported',
    flags: { ...none('leader-migration-config'), 'enable-leader-migration': ['false'] },
  },
];

const CONTROLLERS: readonly FixedFlags[] = [
  {
    because: 'controllers act on watch events at once; there are no batches or periodic resyncs',
    flags: {
      'endpoint-updates-batch-period': ['0s'],
      'endpointslice-updates-batch-period': ['0s'],
      'mirroring-endpointslice-updates-batch-period': ['0s'],
      'min-resync-period': ['12h'],
      'namespace-sync-period': ['5m'],
      'pvclaimbinder-sync-period': ['15s'],
      'resource-quota-sync-period': ['5m'],
      'controller-start-interval': ['0s'],
    },
  },
  {
    because: 'controllers stop at once',
    flags: { 'controller-shutdown-timeout': ['10s'] },
  },
  {
    because: 'load balancer addresses are assigned one at a time, and a slice has at most 100 endpoints',
    flags: {
      'concurrent-service-syncs': ['1'],
      'max-endpoints-per-slice': ['100'],
      'mirroring-max-endpoints-per-subset': ['1000'],
    },
  },
  {
    because: 'this controller does not exist here',
    flags: {
      'concurrent-device-taint-eviction-syncs': ['10'],
      'concurrent-resourceclaim-syncs': ['10'],
      'concurrent-validating-admission-policy-status-syncs': ['5'],
      'legacy-service-account-token-clean-up-period': ['8760h'],
    },
  },
  {
    because: 'one CA signs for all signers: give --cluster-signing-cert-file and --cluster-signing-key-file',
    flags: none(
      ...SIGNERS.flatMap((name) => [`cluster-signing-${name}-cert-file`, `cluster-signing-${name}-key-file`]),
    ),
  },
];

export const CONTROLLER_MANAGER: readonly FixedFlags[] = [
  ...VOLUMES,
  ...CLOUD,
  ...CONTROLLERS,
  ...CONTROL_LOOP,
];

export const CONTROLLER_MANAGER_TOLD: readonly ToldFlags[] = [
  REQUEST_HEADERS,
  {
    because: 'tokens in Secrets are signed by the apiserver, with its own key',
    flags: ['service-account-private-key-file'],
  },
];
