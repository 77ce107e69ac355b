// Pod: containers that share a node, a network and volumes. Pure.
// Guarantees: a new pod is Pending with its QoS class; its spec stays as it was but for the few fields that may change.

import { type Cause, forbiddenField } from '../causes.js';
import type { V1Pod, V1PodSpec } from '../gen/types.js';
import type { KindDefinition } from '../kind.js';
import { PODS } from '../resources.js';
import { NO_TIME } from '../zeroValues.js';
import { podColumns } from './pod/columns.js';
import { defaultPod } from './pod/defaults.js';
import { validateGatedNode } from './pod/names.js';
import { qosClassOf } from './pod/qos.js';
import { validatePodStatus } from './pod/status.js';
import { validatePodUpdate } from './pod/update.js';
import { validatePodSpec } from './pod/validate.js';
import { isNewStatus } from './statusChecks.js';

export const podKind: KindDefinition<V1Pod> = {
  type: PODS,
  singular: 'pod',
  shortNames: ['po'],
  categories: ['all'],
  model: 'V1Pod',
  hasStatus: true,
  statusKeeps: ['ownerReferences'],
  hasGeneration: true,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    draft.spec ??= { containers: [] };
    defaultPod(draft.spec);
  },
  prepareForCreate(draft) {
    draft.status = { phase: 'Pending', qosClass: qosClassOf(draft.spec ?? { containers: [] }) };
    if ((draft.spec?.schedulingGates ?? []).length === 0) return;
    draft.status.conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
        lastProbeTime: NO_TIME,
        lastTransitionTime: NO_TIME,
      },
    ];
  },
  prepareForUpdate(draft, old) {
    const qosClass = old.status?.qosClass;
    if (draft.status !== undefined && qosClass !== undefined) draft.status.qosClass ??= qosClass;
  },
  validate(pod, old) {
    const { spec = { containers: [] } } = pod;
    const told = old !== undefined && isNewStatus(pod, old) ? validatePodStatus(pod, old) : [];
    // A status that changes beside the very spec that is stored: nothing else is new.
    if (spec === old?.spec && pod !== old) return told;
    return [
      ...told,
      ...validatePodSpec(spec, 'spec'),
      ...(old?.spec === undefined ? validateNew(spec) : validatePodUpdate(spec, old.spec)),
    ];
  },
  columns: podColumns,
  fields: ({ spec, status }) => ({
    'spec.nodeName': spec?.nodeName ?? '',
    'spec.restartPolicy': spec?.restartPolicy ?? '',
    'spec.schedulerName': spec?.schedulerName ?? '',
    'spec.serviceAccountName': spec?.serviceAccountName ?? '',
    'spec.hostNetwork': String(spec?.hostNetwork ?? false),
    'status.phase': status?.phase ?? '',
    'status.podIP': status?.podIP ?? '',
    'status.nominatedNodeName': status?.nominatedNodeName ?? '',
  }),
};

function validateNew(spec: V1PodSpec): Cause[] {
  const ephemeral = spec.ephemeralContainers ?? [];
  return [
    ...validateGatedNode(spec),
    ...(ephemeral.length === 0
      ? []
      : [forbiddenField('spec.ephemeralContainers', 'cannot be set on create')]),
  ];
}
