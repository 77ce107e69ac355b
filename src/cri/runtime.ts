// The container runtime as the kubelet sees it: CRI v1, messages under their own names in camel case.
// Guarantees: every call has a deadline; a failed one throws CriError with the call, the gRPC code and the runtime's words.

type PodSandboxState = 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
export type ContainerState =
  | 'CONTAINER_CREATED'
  | 'CONTAINER_RUNNING'
  | 'CONTAINER_EXITED'
  | 'CONTAINER_UNKNOWN';
type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';
export type StringMap = Readonly<Record<string, string>>;

/** A range of ids of the node that the same number of ids inside stands for. */
export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

export interface NamespaceOptions {
  readonly network: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly ipc: NamespaceMode;
  readonly targetId?: string;
  readonly usernsOptions?: {
    readonly mode: 'POD' | 'NODE';
    readonly uids: readonly IdMapping[];
    readonly gids: readonly IdMapping[];
  };
}

export interface PodSandboxMetadata {
  readonly name: string;
  readonly uid: string;
  readonly namespace: string;
  readonly attempt: number;
}

export interface SecurityProfile {
  readonly profileType: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  readonly localhostRef?: string;
}

interface SELinuxOptions {
  readonly user?: string | undefined;
  readonly role?: string | undefined;
  readonly type?: string | undefined;
  readonly level?: string | undefined;
}

export interface PodSandboxConfig {
  readonly metadata: PodSandboxMetadata;
  readonly hostname: string;
  /** Where the pod's container logs go; each container's logPath is below it. */
  readonly logDirectory: string;
  readonly dnsConfig?: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
  readonly portMappings?: readonly {
    readonly protocol: 'TCP' | 'UDP' | 'SCTP';
    readonly containerPort: number;
    readonly hostPort: number;
    readonly hostIp: string;
  }[];
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly linux: {
    readonly cgroupParent: string;
    readonly securityContext: {
      readonly namespaceOptions: NamespaceOptions;
      readonly runAsUser?: { readonly value: number };
      readonly runAsGroup?: { readonly value: number };
      readonly supplementalGroups?: readonly number[];
      readonly readonlyRootfs?: boolean;
      readonly privileged?: boolean;
      readonly seccomp?: SecurityProfile;
      readonly selinuxOptions?: SELinuxOptions;
      readonly supplementalGroupsPolicy?: string;
    };
    readonly sysctls: StringMap;
    readonly resources?: LinuxContainerResources;
    readonly overhead?: LinuxContainerResources;
  };
}

export interface LinuxContainerResources {
  readonly cpuPeriod?: number;
  readonly cpuQuota?: number;
  readonly cpuShares?: number;
  readonly memoryLimitInBytes?: number;
  readonly oomScoreAdj?: number;
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hugepageLimits?: readonly { readonly pageSize: string; readonly limit: number }[];
  readonly unified?: StringMap;
  readonly memorySwapLimitInBytes?: number;
}

export interface Mount {
  readonly containerPath: string;
  /** Empty for an image. */
  readonly hostPath: string;
  readonly readonly: boolean;
  readonly selinuxRelabel?: boolean;
  readonly propagation?:
    | 'PROPAGATION_PRIVATE'
    | 'PROPAGATION_HOST_TO_CONTAINER'
    | 'PROPAGATION_BIDIRECTIONAL';
  readonly recursiveReadOnly?: boolean;
  /** For pods in a user namespace: who owns what, seen from inside. */
  readonly uidMappings?: readonly IdMapping[];
  readonly gidMappings?: readonly IdMapping[];
  /** Instead of a path of the node, what this image holds. */
  readonly image?: { readonly image: string } | null;
  readonly imageSubPath?: string;
}

export interface ContainerConfig {
  readonly metadata: { readonly name: string; readonly attempt: number };
  readonly image: { readonly image: string };
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly envs: readonly { readonly key: string; readonly value: string }[];
  readonly mounts: readonly Mount[];
  readonly devices?: readonly { containerPath: string; hostPath: string; permissions: string }[];
  readonly labels: StringMap;
  readonly annotations: StringMap;
  /** Below the sandbox's logDirectory. */
  readonly logPath: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  /** A member of CRI's `Signal`, such as `SIGUSR1` or `SIGRTMINPLUS3`. */
  readonly stopSignal?: string;
  readonly linux: {
    readonly resources: LinuxContainerResources;
    readonly securityContext: {
      readonly capabilities?: {
        readonly addCapabilities: readonly string[];
        readonly dropCapabilities: readonly string[];
      };
      readonly privileged: boolean;
      readonly namespaceOptions: NamespaceOptions;
      readonly runAsUser?: { readonly value: number };
      readonly runAsGroup?: { readonly value: number };
      readonly runAsUsername?: string;
      readonly supplementalGroups?: readonly number[];
      readonly readonlyRootfs: boolean;
      readonly noNewPrivs: boolean;
      readonly maskedPaths: readonly string[];
      readonly readonlyPaths: readonly string[];
      readonly seccomp?: SecurityProfile;
      readonly apparmor?: SecurityProfile;
      readonly selinuxOptions?: SELinuxOptions;
      readonly supplementalGroupsPolicy?: string;
    };
  };
}

export interface PodSandboxStatus {
  readonly id: string;
  readonly metadata: PodSandboxMetadata;
  readonly state: PodSandboxState;
  /** Nanoseconds since 1970. */
  readonly createdAt: bigint;
  readonly network?: { readonly ip: string; readonly additionalIps: readonly { readonly ip: string }[] };
  readonly linux?: { readonly namespaces: { readonly options: NamespaceOptions } };
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

export interface ContainerStatus {
  readonly id: string;
  readonly metadata: { readonly name: string; readonly attempt: number };
  readonly state: ContainerState;
  readonly createdAt: bigint;
  readonly startedAt: bigint;
  readonly finishedAt: bigint;
  readonly exitCode: number;
  readonly image: { readonly image: string };
  readonly imageRef: string;
  /** `OOMKilled`, `Error`, `Completed` or empty. */
  readonly reason: string;
  readonly message: string;
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly mounts: readonly Mount[];
  readonly logPath: string;
  /** With what the runtime stops it; `RUNTIME_DEFAULT` where it does not tell. */
  readonly stopSignal?: string;
  /** As whom its first process began, where the runtime tells. */
  readonly user?: {
    readonly uid: number;
    readonly gid: number;
    readonly supplementalGroups: readonly number[];
  };
}

export interface PodSandbox {
  readonly id: string;
  readonly metadata: PodSandboxMetadata;
  readonly state: PodSandboxState;
  readonly createdAt: bigint;
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

export interface Container {
  readonly id: string;
  readonly podSandboxId: string;
  readonly metadata: { readonly name: string; readonly attempt: number };
  readonly state: ContainerState;
  readonly createdAt: bigint;
  readonly image: { readonly image: string };
  readonly imageRef: string;
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** What a runtime offers for pods of one RuntimeClass. */
export interface RuntimeHandlerFeatures {
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

interface RuntimeHandler {
  /** Empty for the default one. */
  readonly name: string;
  readonly features: RuntimeHandlerFeatures;
}

export interface RuntimeStatus {
  readonly conditions: readonly RuntimeCondition[];
  /** None where the runtime is too old to tell. */
  readonly handlers: readonly RuntimeHandler[];
  /** Undefined where the runtime is too old to tell. */
  readonly features: { readonly supplementalGroupsPolicy: boolean } | undefined;
}

export interface ExecRequest {
  readonly containerId: string;
  readonly cmd: readonly string[];
  readonly tty: boolean;
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
}

export interface ContainerEvent {
  /** Of a container or of a sandbox. */
  readonly containerId: string;
  readonly type:
    | 'CONTAINER_CREATED_EVENT'
    | 'CONTAINER_STARTED_EVENT'
    | 'CONTAINER_STOPPED_EVENT'
    | 'CONTAINER_DELETED_EVENT';
  /** Absent where only the container is told. */
  readonly podUid?: string;
}

export interface ContainerStats {
  readonly id: string;
  readonly cpuCoreNanoSeconds: number;
  readonly workingSetBytes: number;
  /** What the container has written over its image. */
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface PodSandboxStats {
  readonly id: string;
  readonly podUid: string;
  readonly cpuCoreNanoSeconds: number;
  readonly workingSetBytes: number;
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly processCount: number;
  readonly containers: readonly ContainerStats[];
}

export interface MetricDescriptor {
  readonly name: string;
  readonly help: string;
  readonly labelKeys: readonly string[];
}

export interface Metric {
  readonly name: string;
  readonly metricType: 'COUNTER' | 'GAUGE';
  readonly labelValues: readonly string[];
  readonly value: number;
}

export interface PodSandboxMetrics {
  readonly podSandboxId: string;
  readonly metrics: readonly Metric[];
  readonly containerMetrics: readonly { readonly containerId: string; readonly metrics: readonly Metric[] }[];
}

export interface SandboxFilter {
  readonly id?: string;
  readonly labels?: StringMap;
}

export interface ContainerFilter {
  readonly podSandboxId?: string;
  readonly labels?: StringMap;
}

/**
 * Each call of CRI's RuntimeService. Those that begin with `stream` answer as the lists do, in pieces that together may
 * be larger than one message; runtimes that know them not say `UNIMPLEMENTED`, as they do for any call that is new.
 */
export interface RuntimeService {
  version(): Promise<{
    readonly runtimeName: string;
    readonly runtimeVersion: string;
    readonly runtimeApiVersion: string;
  }>;
  status(): Promise<RuntimeStatus>;
  runPodSandbox(config: PodSandboxConfig, runtimeHandler?: string): Promise<string>;
  /** Idempotent; success also when the sandbox is gone. */
  stopPodSandbox(id: string): Promise<void>;
  removePodSandbox(id: string): Promise<void>;
  podSandboxStatus(id: string): Promise<PodSandboxStatus>;
  /** What a runtime tells of a sandbox beyond the interface, each value mostly JSON of its own shape. */
  podSandboxInfo(id: string): Promise<StringMap>;
  listPodSandbox(filter?: SandboxFilter): Promise<readonly PodSandbox[]>;
  streamPodSandboxes(filter?: SandboxFilter): Promise<readonly PodSandbox[]>;
  /** Tells the runtime what the pod as a whole may use, after its control group was changed. */
  updatePodSandboxResources(id: string, resources: LinuxContainerResources): Promise<void>;
  createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: PodSandboxConfig,
  ): Promise<string>;
  startContainer(id: string): Promise<void>;
  /** TERM, then KILL after the time-out; success also when the container is gone. */
  stopContainer(id: string, timeoutSeconds: number): Promise<void>;
  /** Of a container that runs. */
  updateContainerResources(id: string, resources: LinuxContainerResources): Promise<void>;
  removeContainer(id: string): Promise<void>;
  listContainers(filter?: ContainerFilter): Promise<readonly Container[]>;
  streamContainers(filter?: ContainerFilter): Promise<readonly Container[]>;
  containerStatus(id: string): Promise<ContainerStatus>;
  containerStats(id: string): Promise<ContainerStats>;
  listContainerStats(): Promise<readonly ContainerStats[]>;
  streamContainerStats(): Promise<readonly ContainerStats[]>;
  podSandboxStats(id: string): Promise<PodSandboxStats>;
  listPodSandboxStats(filter?: SandboxFilter): Promise<readonly PodSandboxStats[]>;
  streamPodSandboxStats(filter?: SandboxFilter): Promise<readonly PodSandboxStats[]>;
  listMetricDescriptors(): Promise<readonly MetricDescriptor[]>;
  listPodSandboxMetrics(): Promise<readonly PodSandboxMetrics[]>;
  streamPodSandboxMetrics(): Promise<readonly PodSandboxMetrics[]>;
  /** The undecoded ListPodSandboxResponse and ListContainersResponse of everything, for the native differ. */
  listPodSandboxBytes(): Promise<Buffer>;
  listContainersBytes(): Promise<Buffer>;
  execSync(
    id: string,
    cmd: readonly string[],
    timeoutSeconds: number,
  ): Promise<{ readonly stdout: Buffer; readonly stderr: Buffer; readonly exitCode: number }>;
  /** Each answers the URL of the runtime's streaming server. */
  exec(request: ExecRequest): Promise<string>;
  attach(request: Omit<ExecRequest, 'cmd'>): Promise<string>;
  portForward(sandboxId: string, ports: readonly number[]): Promise<string>;
  reopenContainerLog(id: string): Promise<void>;
  /** Writes the state of a running container to an archive at `location`. 0 seconds leave it to the runtime. */
  checkpointContainer(id: string, location: string, timeoutSeconds: number): Promise<void>;
  /** How the runtime keeps control groups; undefined where it does not say. */
  runtimeConfig(): Promise<{ readonly cgroupDriver: 'SYSTEMD' | 'CGROUPFS' | undefined }>;
  /** Tells the runtime the addresses of this node's pods. */
  updateRuntimeConfig(podCidr: string): Promise<void>;
  /**
   * Tells what happens to containers and sandboxes until the signal or the runtime ends it: by CRI's events, or by
   * containerd's own where it has no others. These come without the pod, and a moment before CRI shows what they tell.
   * Throws CriError when the stream breaks, `UNIMPLEMENTED` where the runtime has none.
   */
  containerEvents(heard: (event: ContainerEvent) => void, signal: AbortSignal): Promise<void>;
}

export interface Image {
  readonly id: string;
  readonly repoTags: readonly string[];
  readonly repoDigests: readonly string[];
  readonly size: number;
  readonly username: string;
  readonly uid?: { readonly value: number };
  readonly pinned: boolean;
}

export interface AuthConfig {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly serverAddress?: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

export interface ImageService {
  listImages(): Promise<readonly Image[]>;
  streamImages(): Promise<readonly Image[]>;
  imageStatus(image: string): Promise<Image | undefined>;
  /** Answers the reference of the pulled image. */
  pullImage(image: string, auth?: AuthConfig, sandboxConfig?: PodSandboxConfig): Promise<string>;
  removeImage(image: string): Promise<void>;
  imageFsInfo(): Promise<
    readonly { readonly mountpoint: string; readonly usedBytes: number; readonly inodesUsed: number }[]
  >;
}

/** Both services over one connection. */
export interface ContainerRuntime {
  readonly runtime: RuntimeService;
  readonly images: ImageService;
  close(): void;
}
