// The values that a field takes where they are few and fixed, as OpenAPI tells them. Pure data.
// Guarantees: those of Kubernetes v1.36; for a list or a map they are those of its items.

/** In alphabetical order, as a stock server has them. */
const VALUES: readonly (readonly [values: readonly string[], fields: string])[] = [
  [
    ['Equivalent', 'Exact'],
    'V1MatchResources.matchPolicy V1MutatingWebhook.matchPolicy V1ValidatingWebhook.matchPolicy',
  ],
  [
    ['Fail', 'Ignore'],
    'V1MutatingAdmissionPolicySpec.failurePolicy V1MutatingWebhook.failurePolicy V1ValidatingAdmissionPolicySpec.failurePolicy V1ValidatingWebhook.failurePolicy',
  ],
  [
    ['IfNeeded', 'Never'],
    'V1MutatingAdmissionPolicySpec.reinvocationPolicy V1MutatingWebhook.reinvocationPolicy',
  ],
  [
    ['None', 'NoneOnDryRun', 'Some', 'Unknown'],
    'V1MutatingWebhook.sideEffects V1ValidatingWebhook.sideEffects',
  ],
  [['ApplyConfiguration', 'JSONPatch'], 'V1Mutation.patchType'],
  [
    ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'],
    'V1NamedRuleWithOperations.operations V1RuleWithOperations.operations',
  ],
  [['*', 'Cluster', 'Namespaced'], 'V1NamedRuleWithOperations.scope V1RuleWithOperations.scope'],
  [['Audit', 'Deny', 'Warn'], 'V1ValidatingAdmissionPolicyBindingSpec.validationActions'],
  [['OnDelete', 'RollingUpdate'], 'V1DaemonSetUpdateStrategy.type V1StatefulSetUpdateStrategy.type'],
  [['Recreate', 'RollingUpdate'], 'V1DeploymentStrategy.type'],
  [['OrderedReady', 'Parallel'], 'V1StatefulSetSpec.podManagementPolicy'],
  [['Allow', 'Forbid', 'Replace'], 'V1CronJobSpec.concurrencyPolicy'],
  [['Indexed', 'NonIndexed'], 'V1JobSpec.completionMode'],
  [['Failed', 'TerminatingOrFailed'], 'V1JobSpec.podReplacementPolicy'],
  [['In', 'NotIn'], 'V1PodFailurePolicyOnExitCodesRequirement.operator'],
  [['Count', 'FailIndex', 'FailJob', 'Ignore'], 'V1PodFailurePolicyRule.action'],
  [
    [
      'any',
      'cert sign',
      'client auth',
      'code signing',
      'content commitment',
      'crl sign',
      'data encipherment',
      'decipher only',
      'digital signature',
      'email protection',
      'encipher only',
      'ipsec end system',
      'ipsec tunnel',
      'ipsec user',
      'key agreement',
      'key encipherment',
      'microsoft sgc',
      'netscape sgc',
      'ocsp signing',
      's/mime',
      'server auth',
      'signing',
      'timestamping',
    ],
    'V1CertificateSigningRequestSpec.usages',
  ],
  [['Localhost', 'RuntimeDefault', 'Unconfined'], 'V1AppArmorProfile.type V1SeccompProfile.type'],
  [['None', 'ReadOnly', 'ReadWrite'], 'V1AzureDiskVolumeSource.cachingMode'],
  [['Dedicated', 'Managed', 'Shared'], 'V1AzureDiskVolumeSource.kind'],
  [
    ['FallbackToLogsOnError', 'File'],
    'V1Container.terminationMessagePolicy V1EphemeralContainer.terminationMessagePolicy',
  ],
  [
    ['Always', 'IfNotPresent', 'Never'],
    'V1Container.imagePullPolicy V1EphemeralContainer.imagePullPolicy V1ImageVolumeSource.pullPolicy',
  ],
  [
    ['SCTP', 'TCP', 'UDP'],
    'V1ContainerPort.protocol CoreV1EndpointPort.protocol V1PortStatus.protocol V1ServicePort.protocol DiscoveryV1EndpointPort.protocol V1IngressPortStatus.protocol V1NetworkPolicyPort.protocol',
  ],
  [['HTTP', 'HTTPS'], 'V1HTTPGetAction.scheme'],
  [
    ['', 'BlockDevice', 'CharDevice', 'Directory', 'DirectoryOrCreate', 'File', 'FileOrCreate', 'Socket'],
    'V1HostPathVolumeSource.type',
  ],
  [['InProgress', 'Infeasible', 'Pending'], 'V1ModifyVolumeStatus.status'],
  [['Active', 'Terminating'], 'V1NamespaceStatus.phase'],
  [['DoesNotExist', 'Exists', 'Gt', 'In', 'Lt', 'NotIn'], 'V1NodeSelectorRequirement.operator'],
  [['Pending', 'Running', 'Terminated'], 'V1NodeStatus.phase'],
  [
    ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'],
    'V1PersistentVolumeClaimSpec.accessModes V1PersistentVolumeClaimStatus.accessModes V1PersistentVolumeSpec.accessModes',
  ],
  [['Block', 'Filesystem'], 'V1PersistentVolumeClaimSpec.volumeMode V1PersistentVolumeSpec.volumeMode'],
  [['Bound', 'Lost', 'Pending'], 'V1PersistentVolumeClaimStatus.phase'],
  [
    [
      'ControllerResizeInProgress',
      'ControllerResizeInfeasible',
      'NodeResizeInProgress',
      'NodeResizeInfeasible',
      'NodeResizePending',
    ],
    'V1PersistentVolumeClaimStatus.allocatedResourceStatuses',
  ],
  [
    ['Delete', 'Recycle', 'Retain'],
    'V1PersistentVolumeSpec.persistentVolumeReclaimPolicy V1StorageClass.reclaimPolicy',
  ],
  [['Available', 'Bound', 'Failed', 'Pending', 'Released'], 'V1PersistentVolumeStatus.phase'],
  [['Merge', 'Strict'], 'V1PodSecurityContext.supplementalGroupsPolicy'],
  [['Always', 'OnRootMismatch'], 'V1PodSecurityContext.fsGroupChangePolicy'],
  [['Always', 'Never', 'OnFailure'], 'V1PodSpec.restartPolicy'],
  [['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'], 'V1PodSpec.dnsPolicy'],
  [['Never', 'PreemptLowerPriority'], 'V1PodSpec.preemptionPolicy V1PriorityClass.preemptionPolicy'],
  [['Failed', 'Pending', 'Running', 'Succeeded', 'Unknown'], 'V1PodStatus.phase'],
  [['BestEffort', 'Burstable', 'Guaranteed'], 'V1PodStatus.qosClass'],
  [
    [
      'BestEffort',
      'CrossNamespacePodAffinity',
      'NotBestEffort',
      'NotTerminating',
      'PriorityClass',
      'Terminating',
      'VolumeAttributesClass',
    ],
    'V1ResourceQuotaSpec.scopes V1ScopedResourceSelectorRequirement.scopeName',
  ],
  [['DoesNotExist', 'Exists', 'In', 'NotIn'], 'V1ScopedResourceSelectorRequirement.operator'],
  [['Default', 'Unmasked'], 'V1SecurityContext.procMount'],
  [['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'], 'V1ServiceSpec.type'],
  [['ClientIP', 'None'], 'V1ServiceSpec.sessionAffinity'],
  [['Cluster', 'Local'], 'V1ServiceSpec.externalTrafficPolicy V1ServiceSpec.internalTrafficPolicy'],
  [['', 'IPv4', 'IPv6'], 'V1ServiceSpec.ipFamilies'],
  [['PreferDualStack', 'RequireDualStack', 'SingleStack'], 'V1ServiceSpec.ipFamilyPolicy'],
  [['NoExecute', 'NoSchedule', 'PreferNoSchedule'], 'V1Taint.effect V1Toleration.effect'],
  [['Equal', 'Exists', 'Gt', 'Lt'], 'V1Toleration.operator'],
  [['DoNotSchedule', 'ScheduleAnyway'], 'V1TopologySpreadConstraint.whenUnsatisfiable'],
  [
    ['Honor', 'Ignore'],
    'V1TopologySpreadConstraint.nodeAffinityPolicy V1TopologySpreadConstraint.nodeTaintsPolicy',
  ],
  [['Bidirectional', 'HostToContainer', 'None'], 'V1VolumeMount.mountPropagation'],
  [['FQDN', 'IPv4', 'IPv6'], 'V1EndpointSlice.addressType'],
  [['Exact', 'ImplementationSpecific', 'Prefix'], 'V1HTTPIngressPath.pathType'],
  [['Egress', 'Ingress'], 'V1NetworkPolicySpec.policyTypes'],
  [['AlwaysAllow', 'IfHealthyBudget'], 'V1PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy'],
  [['FromClaim', 'FromClass'], 'V1DeviceAllocationConfiguration.source'],
  [['All', 'ExactCount'], 'V1DeviceSubRequest.allocationMode V1ExactDeviceRequest.allocationMode'],
  [['NoExecute', 'NoSchedule', 'None'], 'V1DeviceTaint.effect V1DeviceToleration.effect'],
  [['Equal', 'Exists'], 'V1DeviceToleration.operator'],
  [['Immediate', 'WaitForFirstConsumer'], 'V1StorageClass.volumeBindingMode'],
  [
    ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'],
    'V1ValidationRule.reason',
  ],
];

const numbered = (name: string, last: number) =>
  Array.from({ length: last + 1 }, (_, at) =>
    at === 0 ? name : `${name}${name.endsWith('N') ? '+' : '-'}${at}`,
  );

const SIGNALS = [
  ...'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP'.split(
    ' ',
  ),
  ...'SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ'.split(' '),
  ...numbered('RTMIN', 15),
  ...numbered('RTMAX', 14),
]
  .map((name) => `SIG${name}`)
  .sort();

const enums = new Map(
  [...VALUES, [SIGNALS, 'V1ContainerStatus.stopSignal V1Lifecycle.stopSignal'] as const].flatMap(
    ([values, fields]) => fields.split(' ').map((field): [string, readonly string[]] => [field, values]),
  ),
);

export const enumOf = (model: string, field: string): readonly string[] | undefined =>
  enums.get(`${model}.${field}`);

/** Every field named here, so that a test can hold them against the schemas. */
export const enumFields: readonly string[] = [...enums.keys()];
