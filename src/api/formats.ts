// What the generated schemas do not say of a field: which texts are quantities, which integers have 64 bits. Pure data.
// Guarantees: keyed by `Model.field`, so a renamed model fails the test that holds this against the schemas.

/** Fields that are one quantity. */
export const QUANTITY_FIELDS: ReadonlySet<string> = new Set([
  'V1EmptyDirVolumeSource.sizeLimit',
  'V1ResourceFieldSelector.divisor',
  'V2MetricTarget.averageValue',
  'V2MetricTarget.value',
  'V2MetricValueStatus.averageValue',
  'V2MetricValueStatus.value',
  'V2HPAScalingRules.tolerance',
  'V1CSIStorageCapacity.capacity',
  'V1CSIStorageCapacity.maximumVolumeSize',
]);

/** Fields that are maps of quantities. */
export const QUANTITY_MAPS: ReadonlySet<string> = new Set([
  'V1ResourceRequirements.limits',
  'V1ResourceRequirements.requests',
  'V1VolumeResourceRequirements.limits',
  'V1VolumeResourceRequirements.requests',
  'V1PodSpec.overhead',
  'V1PodStatus.allocatedResources',
  'V1ContainerStatus.allocatedResources',
  'V1NodeStatus.allocatable',
  'V1NodeStatus.capacity',
  'V1Overhead.podFixed',
  'V1PersistentVolumeSpec.capacity',
  'V1PersistentVolumeClaimStatus.allocatedResources',
  'V1PersistentVolumeClaimStatus.capacity',
  'V1ResourceQuotaSpec.hard',
  'V1ResourceQuotaStatus.hard',
  'V1ResourceQuotaStatus.used',
  'V1LimitRangeItem.default',
  'V1LimitRangeItem.defaultRequest',
  'V1LimitRangeItem.max',
  'V1LimitRangeItem.maxLimitRequestRatio',
  'V1LimitRangeItem.min',
]);

export const isQuantity = (model: string, field: string): boolean => QUANTITY_FIELDS.has(`${model}.${field}`);

/** Integers past 32 bits, by field name: seconds of pods, ids of users, generations. Two kinds of count differ by model. */
export const INT64_FIELDS: ReadonlySet<string> = new Set([
  'activeDeadlineSeconds',
  'deletionGracePeriodSeconds',
  'expirationSeconds',
  'fsGroup',
  'generation',
  'gid',
  'gracePeriodSeconds',
  'int',
  'ints',
  'observedGeneration',
  'nodeAllocatableUpdatePeriodSeconds',
  'remainingItemCount',
  'resourceSliceCount',
  'revision',
  'runAsGroup',
  'runAsUser',
  'seconds',
  'sizeBytes',
  'startingDeadlineSeconds',
  'supplementalGroups',
  'terminationGracePeriodSeconds',
  'tolerationSeconds',
  'uid',
  'V1DeviceSubRequest.count',
  'V1ExactDeviceRequest.count',
]);

export const isInt64 = (model: string, field: string): boolean =>
  INT64_FIELDS.has(field) || INT64_FIELDS.has(`${model}.${field}`);
