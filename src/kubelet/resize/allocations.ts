// What the node has promised to the containers of each pod. A pod that asks for more gets it when the node has it.
// Guarantees: a promise never exceeds the node; after a restart it is what the pod's status says. No IO.
import type { V1ContainerStatus, V1PodSpec } from '../../api/gen/types.js';
import { qosClassOf } from '../../api/kinds/pod/qos.js';
import { isStatic } from '../names.js';
import type { PodFailure } from '../podWorkers.js';
import type { Pod } from '../ports.js';
import { podRequest } from '../resources.js';
import { withResources } from './amounts.js';

export interface PendingResize {
  readonly reason: 'Deferred' | 'Infeasible';
  readonly message: string;
}

/** Why a pod with these resources does not fit, beside those others. */
export type Shortage = (pod: Pod, others: readonly Pod[]) => PodFailure | undefined;

type ResizeAnswer = 'unchanged' | 'granted' | PendingResize;

export class Allocations {
  /** The spec whose resources were last granted: for nearly every pod the very one that it has. */
  readonly #granted = new Map<string, V1PodSpec>();
  readonly #waiting = new Map<string, PendingResize>();

  /** A pod that the node has taken. What it was granted before this kubelet began is in its status. */
  take(pod: Pod): void {
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status;
    const statuses = [...initContainerStatuses, ...containerStatuses];
    const spec = withResources(
      pod.spec,
      ({ name }) => grantedBefore(statuses.find((status) => status.name === name)),
      grantedBefore(pod.status),
    );
    this.#granted.set(pod.metadata.uid, spec);
  }

  /** The pod with the resources that it was granted. */
  of(pod: Pod): Pod {
    const granted = this.#granted.get(pod.metadata.uid);
    if (granted === undefined || granted === pod.spec) return pod;
    const containers = [...(granted.initContainers ?? []), ...granted.containers];
    const heldBy = (name: string) => {
      const held = containers.find((one) => one.name === name);
      return held && (held.resources ?? {});
    };
    const spec = withResources(pod.spec, ({ name }) => heldBy(name), granted.resources ?? {});
    if (spec !== pod.spec) return { ...pod, spec };
    this.#granted.set(pod.metadata.uid, spec); // the newest object, so that no older one is held
    return pod;
  }

  /** Grants what the pod asks for now, or says why not. */
  resize(pod: Pod, others: readonly Pod[], shortageOf: Shortage): ResizeAnswer {
    const { uid } = pod.metadata;
    if (this.of(pod) === pod || isStatic(pod)) {
      this.#waiting.delete(uid);
      return 'unchanged';
    }
    const alone = shortageOf(pod, []);
    const failure = alone ?? shortageOf(pod, others);
    if (failure === undefined) {
      this.#granted.set(uid, pod.spec);
      this.#waiting.delete(uid);
      return 'granted';
    }
    const reason = alone === undefined ? ('Deferred' as const) : ('Infeasible' as const);
    const pending = { reason, message: failure.message };
    this.#waiting.set(uid, pending);
    return pending;
  }

  pending(uid: string): PendingResize | undefined {
    return this.#waiting.get(uid);
  }

  /**
   * Pods for which the node had no room, in the order in which they are tried again when others may have left: first what
   * asks for no more than it has, then by priority, then guaranteed pods, then who has waited longest.
   */
  deferred(podOf: (uid: string) => Pod | undefined): readonly Pod[] {
    const waiting = [...this.#waiting].flatMap(([uid, { reason }]) =>
      reason === 'Deferred' ? (podOf(uid) ?? []) : [],
    );
    const turn = (pod: Pod) => [
      this.#asksForMore(pod) ? 1 : 0,
      -(pod.spec.priority ?? 0),
      qosClassOf(pod.spec) === 'Guaranteed' ? 0 : 1,
    ];
    return waiting
      .map((pod) => ({ pod, turn: turn(pod) }))
      .sort((one, other) => compareTurns(one.turn, other.turn))
      .map(({ pod }) => pod);
  }

  #asksForMore(pod: Pod): boolean {
    const granted = this.of(pod).spec;
    return ['cpu', 'memory'].some((name) => podRequest(pod.spec, name) > podRequest(granted, name));
  }

  forget(uid: string): void {
    this.#granted.delete(uid);
    this.#waiting.delete(uid);
  }
}

/** By the first number that differs. */
function compareTurns(one: readonly number[], other: readonly number[]): number {
  const index = one.findIndex((number, at) => number !== other[at]);
  return index === -1 ? 0 : (one[index] ?? 0) - (other[index] ?? 0);
}

/** The requests as they were promised; the limits as they were last given, which come after. */
function grantedBefore(status: Pick<V1ContainerStatus, 'resources' | 'allocatedResources'> | undefined) {
  if (status?.resources === undefined) return undefined;
  const { resources, allocatedResources } = status;
  return { ...resources, ...(allocatedResources === undefined ? {} : { requests: allocatedResources }) };
}
