// What a kubelet is given, what it gives the parts of its pods, and what its owner sees of it.
// Guarantees: types alone; nothing here runs.
import type { V1Node, V1Secret } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import type { Stored } from '../api/object.js';
import type { Client } from '../client/client.js';
import type { Informers } from '../client/informer.js';
import type { ContainerRuntime, RuntimeHandlerFeatures } from '../cri/runtime.js';
import type { CgroupPort } from '../kernel/cgroup/port.js';
import type { CgroupStatsPort } from '../kernel/cgroup/stats.js';
import type { KubeletConfig, KubeletOptions } from './config.js';
import type { EventSink } from './events.js';
import type { MachineFacts } from './node/machine.js';
import type { PlegDiffer } from './pleg.js';
import type { Attached } from './podSandbox.js';
import type { ContainerEnvironment, Pod, PodVolumes, ProbeKind, Probes } from './ports.js';
import type { PullRecords } from './pullRecords.js';
import type { LogindPlace } from './shutdown/logind.js';
import type { ImageProblem } from './volumes/imageVolume.js';

/** What the parts of a pod need from the kubelet around them. */
export interface PodPartDependencies {
  readonly config: KubeletConfig;
  readonly hostIps: () => readonly string[];
  readonly allocatable: () => Readonly<Record<string, string>>;
  readonly node: () => { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly events: EventSink;
  /** A probe's result has changed. */
  readonly wake: (podUid: string) => void;
  readonly statusOf: (pod: Pod) => Pod['status'];
  /** What the runtime can do for the pod's RuntimeClass; undefined where it does not say. */
  readonly handlerOf: (pod: Pod) => RuntimeHandlerFeatures | undefined;
  /** Why the runtime cannot mount images. */
  readonly imageProblem: ImageProblem;
  /** A probe was run. */
  readonly probed: (
    pod: Pod,
    container: string,
    kind: ProbeKind,
    answer: { readonly outcome: string },
  ) => void;
}

export interface KubeletParts {
  readonly volumes: PodVolumes;
  readonly environment: ContainerEnvironment;
  readonly probes: Probes;
  /** A Secret of the API; undefined when there is none. */
  readonly secret: (pod: Pod, name: string) => Promise<V1Secret | undefined>;
  stop(): void;
}

export interface KubeletDependencies {
  readonly config: KubeletOptions;
  /** Both absent when the kubelet runs alone, with static pods only. */
  readonly client?: Client | undefined;
  readonly informers?: Informers | undefined;
  readonly runtime: ContainerRuntime;
  readonly pleg: PlegDiffer;
  /** Absent where pods get no control groups of their own. */
  readonly cgroups?: CgroupPort | undefined;
  /** Absent where usage is not told. */
  readonly cgroupStats?: CgroupStatsPort | undefined;
  readonly events?: EventSink | undefined;
  readonly attached?: Attached | undefined;
  /** What others of this process tell on /metrics beside the kubelet. */
  readonly otherMetrics?: (() => Promise<string>) | undefined;
  /** The system's own if left out. */
  readonly logind?: LogindPlace;
  readonly log: Log;
  readonly parts: (around: PodPartDependencies) => KubeletParts;
  readonly now?: () => number;
}

/** The dependencies with everything that had to be asked or opened first. */
export interface OpenedDependencies extends KubeletDependencies {
  readonly config: KubeletConfig;
  readonly machine: MachineFacts;
  readonly cgroupStats: CgroupStatsPort | undefined;
  readonly pullRecords: PullRecords;
  readonly events: EventSink;
  readonly now: () => number;
}

/** What the kubelet's HTTP server and its owner see. */
export interface RunningKubelet {
  readonly config: KubeletConfig;
  /** The pods of this node with their newest status. */
  pods(): readonly Pod[];
  pod(namespace: string, name: string): Pod | undefined;
  podByUid(uid: string): Pod | undefined;
  node(): Stored<V1Node> | undefined;
  allocatable(): Readonly<Record<string, string>>;
  readonly stats: KubeletStats;
  /** Undefined while healthy. */
  unhealthy(): string | undefined;
  /** Stops the loops; containers go on running. */
  stop(): Promise<void>;
}

/** The bodies of the statistics' paths. */
export interface KubeletStats {
  summary(): Promise<object>;
  resource(): Promise<string>;
  cadvisor(): Promise<string>;
  probes(): string;
  own(): Promise<string>;
}
