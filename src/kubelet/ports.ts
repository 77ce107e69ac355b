// Interfaces inside the kubelet: what the pod worker needs from volumes, environment, probes and images.
// Guarantees: each is level-triggered; calling again with the same pod changes nothing.
import type { V1Container, V1ContainerStatus, V1Pod } from '../api/gen/types.js';
import type { Stored } from '../api/object.js';
import type { Mount } from '../cri/runtime.js';

export type Pod = Stored<V1Pod>;

export interface PodVolumes {
  /** Makes every volume of the pod ready and its contents current; answers the host path by volume name. */
  setUp(pod: Pod): Promise<ReadonlyMap<string, string>>;
  /** Unmounts and removes all of a pod's volumes. What its containers had to say stays for as long as the pod is known. */
  tearDown(podUid: string): Promise<void>;
  /** Removes all that the disk has of a pod, also of one that only the disk still knows. */
  remove(podUid: string): Promise<void>;
  /** Pods that have a directory, for clean-up of those that are gone. */
  podsOnDisk(): Promise<readonly string[]>;
}

/** What is known when a container is about to be made. */
export interface ContainerDependencies {
  readonly pod: Pod;
  readonly container: V1Container;
  /** Host paths by the names of volumes. */
  readonly volumes: ReadonlyMap<string, string>;
  readonly podIps: readonly string[];
}

export interface ContainerEnvironment {
  /** The variables in order, `$(VAR)` expanded; throws KubeletError with Kubernetes' reason when a source is missing. */
  variables(
    around: ContainerDependencies,
  ): Promise<readonly { readonly key: string; readonly value: string }[]>;
  /** Bind mounts of volumes, /etc/hosts and the termination log. `attempt` tells one run's files from the next's. */
  mounts(
    around: ContainerDependencies & {
      readonly attempt: number;
      /** Those of volumes that are images, by the volumes' names. */
      readonly images: ReadonlyMap<string, string>;
    },
  ): Promise<readonly Mount[]>;
}

export type ProbeKind = 'liveness' | 'readiness' | 'startup';

export interface Probes {
  /** Starts or goes on probing the containers of this pod; a container with a new id is probed afresh. */
  update(pod: Pod, statuses: readonly V1ContainerStatus[], podIp: string | undefined): void;
  remove(podUid: string): void;
  /** What the status says: without a readiness probe a running container is ready, without a startup probe started. */
  isReady(podUid: string, containerId: string): boolean;
  isStarted(podUid: string, containerId: string): boolean;
  /** True once liveness or startup has failed for this container: the worker then restarts it. */
  hasFailed(
    podUid: string,
    containerId: string,
  ): { readonly kind: ProbeKind; readonly message: string } | undefined;
}
