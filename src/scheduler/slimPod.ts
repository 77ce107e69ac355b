// A bound pod without what no plugin reads of it: of a cluster's pods nearly all are bound. Pure.
// Guarantees: a pod that waits is left whole; of a bound one everything that other pods' choices depend on stays.
import type { V1Container, V1ContainerStatus, V1Pod, V1PodStatus } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import { isContested } from './podInfo.js';

export function slimPod(pod: Stored<V1Pod>): Stored<V1Pod> {
  if (!pod.spec.nodeName) return pod;
  const { annotations: _, managedFields: __, ...metadata } = pod.metadata;
  const { tolerations: ___, initContainers, volumes, ...spec } = pod.spec;
  return {
    ...pod,
    metadata,
    spec: {
      ...spec,
      containers: spec.containers.map(slimContainer),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(slimContainer) }),
      ...(volumes === undefined ? {} : { volumes: volumes.filter(isContested) }),
    },
    status: slimStatus(pod.status),
  };
}

function slimContainer({ name, image, ports, resources, restartPolicy }: V1Container): V1Container {
  return {
    name,
    ...(image === undefined ? {} : { image }),
    ...(ports?.some(({ hostPort }) => hostPort !== undefined) === true ? { ports } : {}),
    ...(resources === undefined ? {} : { resources }),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  };
}

/** Whether it has ended, since when it runs, and what it holds while it is being resized. */
function slimStatus(status: V1PodStatus | undefined): V1PodStatus {
  if (status === undefined) return {};
  const { phase, startTime, nominatedNodeName, resources, allocatedResources } = status;
  const conditions = (status.conditions ?? []).filter(({ type }) => type === 'PodResizePending');
  const containerStatuses = (status.containerStatuses ?? []).flatMap(slimContainerStatus);
  const initContainerStatuses = (status.initContainerStatuses ?? []).flatMap(slimContainerStatus);
  return {
    ...(phase === undefined ? {} : { phase }),
    ...(startTime === undefined ? {} : { startTime }),
    ...(nominatedNodeName === undefined ? {} : { nominatedNodeName }),
    ...(resources === undefined ? {} : { resources }),
    ...(allocatedResources === undefined ? {} : { allocatedResources }),
    ...(conditions.length === 0 ? {} : { conditions }),
    ...(containerStatuses.length === 0 ? {} : { containerStatuses }),
    ...(initContainerStatuses.length === 0 ? {} : { initContainerStatuses }),
  };
}

function slimContainerStatus(status: V1ContainerStatus): V1ContainerStatus[] {
  const { name, image, imageID, ready, restartCount, resources, allocatedResources } = status;
  if (resources === undefined) return [];
  const kept = { name, image, imageID, ready, restartCount, resources };
  return [allocatedResources === undefined ? kept : { ...kept, allocatedResources }];
}
