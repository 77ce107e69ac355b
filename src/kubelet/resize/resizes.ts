// The resizes that are under way: begun when a pod was granted other resources than it has, over when it has them.
// Guarantees: what could not be given is told on the pod and tried again; what each container has stands in its status alone.
import type { V1ContainerStatus, V1PodStatus, V1ResourceRequirements } from '../../api/gen/types.js';
import { messageOf } from '../../base/errorMessage.js';
import type { EventSink } from '../events.js';
import type { ContainerResize, PodActions } from '../podActions.js';
import type { Pod } from '../ports.js';
import type { StatusManager } from '../status/statusManager.js';
import type { ResizeActuator } from './actuate.js';
import type { PendingResize } from './allocations.js';
import { changedAmounts, resizableContainers, summaryOf } from './amounts.js';

interface ResizesOptions {
  readonly actuator: ResizeActuator;
  readonly statuses: StatusManager;
  readonly events: EventSink;
  /** Resources that the pod asks for and was not granted. */
  readonly pending: (uid: string) => PendingResize | undefined;
}

interface ResizeUnderWay {
  /** What stands in the way. */
  readonly error?: string;
}

const RETRY_MS = 10_000;

export class Resizes {
  readonly #options: ResizesOptions;

  readonly #underWay = new Map<string, ResizeUnderWay>();

  constructor(options: ResizesOptions) {
    this.#options = options;
  }

  of(uid: string): ResizeUnderWay | undefined {
    return this.#underWay.get(uid);
  }

  pending(uid: string): PendingResize | undefined {
    return this.#options.pending(uid);
  }

  forget(uid: string): void {
    this.#underWay.delete(uid);
  }

  /** One begins when a container has other resources than its pod was granted. */
  notice(pod: Pod): void {
    const { uid } = pod.metadata;
    if (!this.#underWay.has(uid) && isBeingResized(pod, this.#options.statuses.get(pod)))
      this.#underWay.set(uid, {});
  }

  /** Answers when to try again what could not be done. */
  async perform(
    pod: Pod,
    before: V1PodStatus,
    { containersToResize: containers, sandboxId }: Pick<PodActions, 'containersToResize' | 'sandboxId'>,
  ): Promise<number | undefined> {
    if (containers.length === 0 && !isWholeResized(pod, before)) return undefined;
    const { actuator, statuses, events } = this.#options;
    try {
      const given = ({ name }: { readonly name: string }) => statusOf(before, name)?.resources;
      await actuator.resize({ pod, containers, given, givenWhole: before.resources, sandboxId });
      // The status is where it is remembered what each container was given.
      statuses.set(pod, withGiven(pod, statuses.get(pod), containers));
      return undefined;
    } catch (error) {
      this.#underWay.set(pod.metadata.uid, { error: messageOf(error) });
      const message = `Pod resize error: ${messageOf(error)}`;
      events.event(pod, { type: 'Warning', reason: 'ResizeError', message });
      return RETRY_MS;
    }
  }

  /** Over once every container has what its pod was granted. */
  end(pod: Pod, status: V1PodStatus): boolean {
    const { uid } = pod.metadata;
    if (!this.#underWay.has(uid) || isBeingResized(pod, status)) return false;
    this.#underWay.delete(uid);
    const message = `Pod resize completed: ${summaryOf(pod.spec)}`;
    this.#options.events.event(pod, { type: 'Normal', reason: 'ResizeCompleted', message });
    return true;
  }
}

/** The resources of this very run, as its status says. */
export function givenTo(status: V1PodStatus, name: string, id: string): V1ResourceRequirements | undefined {
  const found = statusOf(status, name);
  return found?.containerID?.endsWith(`://${id}`) ? found.resources : undefined;
}

const statusOf = (status: V1PodStatus, name: string): V1ContainerStatus | undefined =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].find(
    (one) => one.name === name,
  );

/** The control group of the pod has other limits than it was granted as a whole. */
function isWholeResized({ spec }: Pod, status: V1PodStatus): boolean {
  const { resources } = spec;
  if (resources === undefined || status.resources === undefined) return false;
  return changedAmounts(resources, status.resources).length > 0;
}

/** The pod, or a running container of it, has other resources than were granted. */
function isBeingResized(pod: Pod, status: V1PodStatus): boolean {
  if (isWholeResized(pod, status)) return true;
  return resizableContainers(pod.spec).some(({ name, resources }) => {
    const given = statusOf(status, name);
    if (given?.resources === undefined || given.state?.running === undefined) return false;
    return changedAmounts(resources, given.resources).length > 0;
  });
}

function withGiven({ spec }: Pod, status: V1PodStatus, resized: readonly ContainerResize[]): V1PodStatus {
  const each = (list: readonly V1ContainerStatus[]) =>
    list.map((one) => {
      const found = resized.find(({ container }) => container.name === one.name);
      return found === undefined ? one : { ...one, resources: found.container.resources ?? {} };
    });
  const { initContainerStatuses, containerStatuses = [] } = status;
  return {
    ...status,
    ...(spec.resources === undefined ? {} : { resources: spec.resources }),
    containerStatuses: each(containerStatuses),
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses: each(initContainerStatuses) }),
  };
}
