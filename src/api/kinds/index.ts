// Every kind that the apiserver serves. Pure.
// Guarantees: a kind is served because it is in this list, and for no other reason.
import type { KindDefinition } from '../kind.js';
import { horizontalPodAutoscalerKind } from './autoscaling/horizontalPodAutoscaler.js';
import { cronJobKind } from './batch/cronJob.js';
import { jobKind } from './batch/job.js';
import { certificateSigningRequestKind } from './certificateSigningRequest.js';
import { configMapKind } from './configMap.js';
import { controllerRevisionKind } from './controllerRevision.js';
import { customResourceDefinitionKind } from './customResource/definition.js';
import { daemonSetKind } from './daemonSet.js';
import { deploymentKind } from './deployment.js';
import {
  deviceClassKind,
  resourceClaimKind,
  resourceClaimTemplateKind,
  resourceSliceKind,
} from './devices.js';
import { endpointSliceKind } from './endpointSlice.js';
import { endpointsKind } from './endpoints.js';
import { eventKind } from './event.js';
import { flowSchemaKind, priorityLevelConfigurationKind } from './flowControl.js';
import { leaseKind } from './lease.js';
import { limitRangeKind } from './limitRange.js';
import { namespaceKind } from './namespace.js';
import { ingressKind } from './networking/ingress.js';
import { ingressClassKind } from './networking/ingressClass.js';
import { networkPolicyKind } from './networking/networkPolicy.js';
import { ipAddressKind, serviceCidrKind } from './networking/serviceAddresses.js';
import { nodeKind } from './node.js';
import { podKind } from './pod.js';
import { podDisruptionBudgetKind } from './podDisruptionBudget.js';
import { podTemplateKind } from './podTemplate.js';
import { priorityClassKind } from './priorityClass.js';
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from './rbac.js';
import { replicaSetKind } from './replicaSet.js';
import { replicationControllerKind } from './replicationController.js';
import { resourceQuotaKind } from './resourceQuota.js';
import { runtimeClassKind } from './runtimeClass.js';
import { secretKind } from './secret.js';
import { serviceKind } from './service.js';
import { serviceAccountKind } from './serviceAccount.js';
import { statefulSetKind } from './statefulSet.js';
import {
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
  volumeAttributesClassKind,
} from './storage/csi.js';
import { persistentVolumeKind } from './storage/persistentVolume.js';
import { persistentVolumeClaimKind } from './storage/persistentVolumeClaim.js';
import { storageClassKind } from './storage/storageClass.js';
import { volumeAttachmentKind } from './storage/volumeAttachment.js';

/** In the order of discovery: by group, the core group first. */
export const KINDS: readonly KindDefinition[] = [
  configMapKind,
  endpointsKind,
  eventKind,
  limitRangeKind,
  namespaceKind,
  nodeKind,
  persistentVolumeClaimKind,
  persistentVolumeKind,
  podKind,
  podTemplateKind,
  replicationControllerKind,
  resourceQuotaKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  customResourceDefinitionKind,
  controllerRevisionKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  statefulSetKind,
  horizontalPodAutoscalerKind,
  cronJobKind,
  jobKind,
  certificateSigningRequestKind,
  leaseKind,
  endpointSliceKind,
  flowSchemaKind,
  priorityLevelConfigurationKind,
  ingressClassKind,
  ingressKind,
  ipAddressKind,
  networkPolicyKind,
  serviceCidrKind,
  runtimeClassKind,
  podDisruptionBudgetKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  deviceClassKind,
  resourceClaimKind,
  resourceClaimTemplateKind,
  resourceSliceKind,
  priorityClassKind,
  csiDriverKind,
  csiNodeKind,
  csiStorageCapacityKind,
  storageClassKind,
  volumeAttachmentKind,
  volumeAttributesClassKind,
];
