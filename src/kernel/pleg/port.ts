// The pod lifecycle event generator: what changed since the last listing of the runtime that was dealt with.
// Guarantees of every implementation: only pods that changed are told; the record advances by commit() alone.

export type PodLifecycleEventType =
  | 'ContainerStarted'
  | 'ContainerDied'
  | 'ContainerRemoved'
  | 'ContainerChanged';

/** `id` is a container's or, as in Kubernetes, a sandbox's. */
export interface PodLifecycleEvent {
  readonly type: PodLifecycleEventType;
  readonly id: string;
}

export interface ChangedPod {
  readonly podUid: string;
  readonly events: readonly PodLifecycleEvent[];
}

interface Relist {
  /** In the order of their uids. */
  readonly changed: readonly ChangedPod[];
  /** Call it when the events are delivered. Without it the next relist finds them again; one that a later relist replaced does nothing. */
  commit(): void;
}

export interface PlegPort {
  /**
   * Takes a ListPodSandboxResponse and a ListContainersResponse of CRI v1 as they came. Bytes that are no such message
   * reject with a KernelError of code EBADMSG and leave the record alone.
   */
  relist(sandboxes: Uint8Array, containers: Uint8Array): Promise<Relist>;
  /** The uids of the record's pods, in order. */
  pods(): readonly string[];
}
