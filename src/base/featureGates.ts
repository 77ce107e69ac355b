// Kubernetes' feature gates at v1.36, and which way each stands here. Pure.
// Guarantees: a gate that asks for anything else than what is done is answered with a sentence that says so; none is
// ignored. Gates cannot be turned here: what they guard is either built or not.

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Kubernetes has them on, and so it is here. */
const ON = words(`
  CRDValidationRatcheting CustomResourceFieldSelectors
  AggregatedDiscoveryRemoveBetaType AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs AnyVolumeDataSource
  APIResponseCompression AuthorizeNodeWithSelectors AuthorizePodWebsocketUpgradeCreatePermission AuthorizeWithSelectors
  BtreeWatchCache ClearingNominatedNodeNameAfterBinding ConsistentListFromCache ContainerCheckpoint ContainerRestartRules
  ContextualLogging DeclarativeValidation DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
  DetectCacheInconsistency DisableAllocatorDualWrite DisableNodeKubeProxyVersion EnvFiles ExecProbeTimeout
  ExtendWebSocketsToKubelet GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HostnameOverride
  HPAConfigurableTolerance ImageMaximumGCAge ImageVolume InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScaling
  InPlacePodVerticalScalingInitContainers JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy
  KubeletCgroupDriverFromCRI KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletFineGrainedAuthz
  ListFromCacheSnapshot LogarithmicScaleDown LoggingBetaOptions MatchLabelKeysInPodAffinity
  MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge MultiCIDRServiceAllocator
  MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs NFTablesProxyMode NodeDeclaredFeatures
  NodeInclusionPolicyInPodTopologySpread NominatedNodeNameForExpectation OpenAPIEnums OrderedNamespaceDeletion
  PLEGOnDemandRelist PodDeletionCost PodLevelResources PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
  PodObservedGenerationTracking PodReadyToStartContainersCondition PodSchedulingReadiness PodTopologyLabelsAdmission
  PortForwardWebsockets PreferSameTrafficDistribution PreventStaticPodAPIReferences ProcMountType
  RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
  RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
  ResilientWatchCacheInitialization RestartAllContainersOnContainerExits RetryGenerateName RotateKubeletServerCertificate
  SchedulerAsyncPreemption SchedulerPopFromBackoffQ SchedulerQueueingHints SeparateTaintEvictionController
  ServiceAccountNodeAudienceRestriction ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
  ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo ServiceCIDRStatusFieldWiping SidecarContainers
  SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
  StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison
  StorageNamespaceIndex StorageVersionHash StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
  StrictIPCIDRValidation SupplementalGroupsPolicy TokenRequestServiceAccountUIDValidation
  TranslateStreamCloseWebsocketRequests UserNamespacesSupport VolumeAttributesClass WatchCacheInitializationPostStartHook
  WatchList
`);

/** Kubernetes has them off, and what they guard is done here. */
const ON_HERE = words('ContainerStopSignals EventedPLEG MaxUnavailableStatefulSet');

/** Kubernetes has them on, and what they guard is not built here. */
const OFF_HERE = words(`
  AnonymousAuthConfigurableEndpoints APIServerIdentity APIServerTracing ComponentFlagz ComponentStatusz
  ConstrainedImpersonation CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CRDObservedGenerationTracking
  CSIServiceAccountTokenSecrets CustomCPUCFSQuotaPeriod
  DisableCPUQuotaWithExclusiveCPUs DRAAdminAccess DRAConsumableCapacity DRADeviceBindingConditions DRADeviceTaints
  DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList DRAResourceClaimDeviceStatus
  DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout DynamicResourceAllocation
  ExternalServiceAccountTokenSigner KubeletPodResourcesDynamicResources KubeletPodResourcesGet
  KubeletPodResourcesListUseActivePods KubeletPSI KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders
  KubeletTracing MutableCSINodeAllocatableCount MutatingAdmissionPolicy NodeLogQuery NodeSwap OpportunisticBatching
  RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage SELinuxChangePolicy
  SELinuxMountReadWriteOncePod StructuredAuthenticationConfiguration StructuredAuthenticationConfigurationEgressSelector
  StructuredAuthenticationConfigurationJWKSMetrics SystemdWatchdog TopologyManagerPolicyBetaOptions
  TopologyManagerPolicyOptions UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
  WindowsGracefulNodeShutdown WinDSR WinOverlay
`);

/** Kubernetes has them off, and so it is here. */
const OFF = words(`
  AllAlpha AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests AllowOverwriteTerminationGracePeriodSeconds
  AllowUnsafeMalformedObjectDeletion APIServingWithRoutine CBORServingAndStorage ChangeContainerStatusOnKubeletRestart
  CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ClusterTrustBundle
  ClusterTrustBundleProjection ConcurrentWatchObjectDecode ControllerManagerReleaseLeaderElectionLockOnExit
  CoordinatedLeaderElection CPUManagerPolicyAlphaOptions CRIListStreaming CrossNamespaceVolumeDataSource CSIVolumeHealth
  DeclarativeValidationTakeover DRADeviceTaintRules DRAListTypeAttributes DRANodeAllocatableResources
  DRAResourcePoolStatus DRAWorkloadResourceClaims GangScheduling GenericWorkload GitRepoVolumeDriver HPAScaleToZero
  ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory KMSv1
  KubeletInUserNamespace KubeletRegistrationGetOnExistsOnly LocalStorageCapacityIsolationFSQuotaMonitoring
  LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS MutablePVNodeAffinity NativeHistograms
  PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodCertificateRequest PodLevelResourceManagers
  PodLogsQuerySplitStreams PodsAPI QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi
  SchedulerAsyncAPICalls SELinuxMount SeparateCacheWatchRPC ShardedListAndWatch StorageCapacityScoring StorageVersionAPI
  StorageVersionMigrator TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling
  TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity
  WindowsHostNetwork WorkloadAwarePreemption WorkloadWithJob
`);

/** What is done here, by the gate's name. */
export const FEATURE_GATES: ReadonlyMap<string, boolean> = new Map([
  ...[...ON, ...ON_HERE].map((name) => [name, true] as const),
  ...[...OFF, ...OFF_HERE].map((name) => [name, false] as const),
]);

/** Why a gate cannot stand that way; undefined when it does already. */
export function gateFault(name: string, wanted: boolean): string | undefined {
  const is = FEATURE_GATES.get(name);
  if (is === undefined)
    return name === 'AllBeta'
      ? 'AllBeta speaks of many gates at once; name those you mean'
      : `${name} is no feature gate of Kubernetes v1.36; leave it out`;
  if (is === wanted) return undefined;
  return is
    ? `${name} cannot be turned off here; leave it out, or say ${name}=true`
    : `${name} is not built here; leave it out, or say ${name}=false`;
}

/** The first fault of what a file says, `{A: true}`; undefined when every gate stands as it is here. */
export function gateMapFault(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    return 'is not a map of names to true or false';
  for (const [name, wanted] of Object.entries(given)) {
    if (typeof wanted !== 'boolean') return `${name}: ${JSON.stringify(wanted)} is neither true nor false`;
    const fault = gateFault(name, wanted);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** The first fault of `A=true,B=false`, as the flag has it; undefined when every gate stands as it is here. */
export function gatesFault(text: string): string | undefined {
  for (const pair of text.split(',').map((part) => part.trim())) {
    if (pair === '') continue;
    const [, name = '', value = ''] = /^(?:kube:)?(\w+)=(\w+)$/.exec(pair) ?? [];
    if (name === '') return `${JSON.stringify(pair)} is not written as Name=true or Name=false`;
    if (!/^(true|false|t|f|1|0)$/i.test(value))
      return `${name}: ${JSON.stringify(value)} is neither true nor false`;
    const fault = gateFault(name, /^(true|t|1)$/i.test(value));
    if (fault !== undefined) return fault;
  }
  return undefined;
}
