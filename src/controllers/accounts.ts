// The service account of kube-system as which each controller acts, by Kubernetes' names. Pure.
// Guarantees: every controller is named; one without an account acts as the controller manager itself.

const ACCOUNTS: Readonly<Record<string, string | undefined>> = {
  'bootstrap-signer-controller': 'bootstrap-signer',
  'certificatesigningrequest-approving-controller': 'certificate-controller',
  'certificatesigningrequest-cleaner-controller': 'certificate-controller',
  'certificatesigningrequest-signing-controller': 'certificate-controller',
  'clusterrole-aggregation-controller': 'clusterrole-aggregation-controller',
  'cronjob-controller': 'cronjob-controller',
  'daemonset-controller': 'daemon-set-controller',
  'deployment-controller': 'deployment-controller',
  'disruption-controller': 'disruption-controller',
  'dns-endpoints-controller': 'dns-endpoints-controller',
  'endpoints-controller': 'endpoint-controller',
  'endpointslice-controller': 'endpointslice-controller',
  'endpointslice-mirroring-controller': 'endpointslicemirroring-controller',
  'ephemeral-volume-controller': 'ephemeral-volume-controller',
  'garbage-collector-controller': 'generic-garbage-collector',
  'horizontal-pod-autoscaler-controller': 'horizontal-pod-autoscaler',
  'job-controller': 'job-controller',
  'kubelet-serving-approving-controller': 'kubelet-serving-approver',
  'namespace-controller': 'namespace-controller',
  'node-ipam-controller': 'node-controller',
  'node-lifecycle-controller': 'node-controller',
  'persistentvolume-binder-controller': 'persistent-volume-binder',
  'persistentvolume-expander-controller': 'expand-controller',
  'persistentvolume-protection-controller': 'pv-protection-controller',
  'persistentvolumeclaim-protection-controller': 'pvc-protection-controller',
  'pod-garbage-collector-controller': 'pod-garbage-collector',
  'replicaset-controller': 'replicaset-controller',
  'replicationcontroller-controller': 'replication-controller',
  'resourcequota-controller': 'resourcequota-controller',
  'root-ca-certificate-publisher-controller': 'root-ca-cert-publisher',
  'service-cidr-controller': 'service-cidrs-controller',
  'service-lb-controller': 'service-controller',
  'serviceaccount-controller': 'service-account-controller',
  // It makes the tokens by which the others act.
  'serviceaccount-token-controller': undefined,
  'statefulset-controller': 'statefulset-controller',
  'taint-eviction-controller': 'node-controller',
  'token-cleaner-controller': 'token-cleaner',
  'ttl-after-finished-controller': 'ttl-after-finished-controller',
  'ttl-controller': 'ttl-controller',
};

export const ACCOUNT_NAMESPACE = 'kube-system';

export function accountOf(controller: string): string | undefined {
  if (!Object.hasOwn(ACCOUNTS, controller)) throw new RangeError(`${controller} has no identity`);
  return ACCOUNTS[controller];
}
