// Answers of a runtime as the proto loader gives them, turned into the types of runtime.ts. Pure.
// Guarantees: times are bigint, sizes and ids number; a message that the runtime left out is left out here as well.
import type {
  Container,
  ContainerEvent,
  ContainerStats,
  ContainerStatus,
  Image,
  Metric,
  PodSandbox,
  PodSandboxMetadata,
  PodSandboxMetrics,
  PodSandboxStats,
  PodSandboxStatus,
  RuntimeCondition,
  RuntimeHandlerFeatures,
  RuntimeStatus,
} from './runtime.js';

/** As the proto loader has it: 64-bit numbers as text, absent messages as null. */
type Raw<T, Times extends keyof T> = Omit<T, Times> & { readonly [K in Times]: string };
type RawNetwork = NonNullable<PodSandboxStatus['network']>;
type RawLinux = NonNullable<PodSandboxStatus['linux']>;

export type RawPodSandbox = Raw<PodSandbox, 'createdAt'>;
export type RawContainer = Raw<Container, 'createdAt'>;
export type RawContainerStatus = Omit<
  Raw<ContainerStatus, 'createdAt' | 'startedAt' | 'finishedAt'>,
  'user'
> & {
  readonly user: {
    readonly linux: { uid: string; gid: string; supplementalGroups: readonly string[] } | null;
  } | null;
};
export type RawPodSandboxStatus = Omit<Raw<PodSandboxStatus, 'createdAt'>, 'network' | 'linux'> & {
  readonly network: RawNetwork | null;
  readonly linux: { readonly namespaces: RawLinux['namespaces'] | null } | null;
};
export type RawImage = Omit<Image, 'size' | 'uid'> & {
  readonly size: string;
  readonly uid: { readonly value: string } | null;
};
export interface RawRuntimeStatus {
  readonly status: { readonly conditions: readonly RuntimeCondition[] } | null;
  readonly runtimeHandlers: readonly {
    readonly name: string;
    readonly features: RuntimeHandlerFeatures | null;
  }[];
  readonly features: RuntimeStatus['features'] | null;
}
export interface RawFilesystem {
  readonly fsId: { readonly mountpoint: string } | null;
  readonly usedBytes: { readonly value: string } | null;
  readonly inodesUsed: { readonly value: string } | null;
}
/** A number that may be unknown. */
type Wrapped = { readonly value: string } | null;
interface RawCpu {
  readonly usageCoreNanoSeconds: Wrapped;
}
interface RawMemory {
  readonly workingSetBytes: Wrapped;
}
export interface RawContainerStats {
  readonly attributes: { readonly id: string } | null;
  readonly cpu: RawCpu | null;
  readonly memory: RawMemory | null;
  readonly writableLayer: RawFilesystem | null;
}
export interface RawPodSandboxStats {
  readonly attributes: { readonly id: string; readonly metadata: PodSandboxMetadata | null } | null;
  readonly linux: {
    readonly cpu: RawCpu | null;
    readonly memory: RawMemory | null;
    readonly network: {
      readonly defaultInterface: { readonly rxBytes: Wrapped; readonly txBytes: Wrapped } | null;
    } | null;
    readonly process: { readonly processCount: Wrapped } | null;
    readonly containers: readonly RawContainerStats[];
  } | null;
}
type RawMetric = Omit<Metric, 'value'> & { readonly value: Wrapped };
export interface RawPodSandboxMetrics {
  readonly podSandboxId: string;
  readonly metrics: readonly RawMetric[];
  readonly containerMetrics: readonly {
    readonly containerId: string;
    readonly metrics: readonly RawMetric[];
  }[];
}

export interface RawContainerEvent {
  readonly containerId: string;
  readonly containerEventType: ContainerEvent['type'];
  readonly podSandboxStatus: RawPodSandboxStatus | null;
}

const NO_POD: PodSandboxMetadata = { name: '', uid: '', namespace: '', attempt: 0 };
const NO_CONTAINER = { name: '', attempt: 0 };

export const toPodSandbox = (raw: RawPodSandbox): PodSandbox => ({
  ...raw,
  metadata: raw.metadata ?? NO_POD,
  createdAt: BigInt(raw.createdAt),
});

export const toContainer = (raw: RawContainer): Container => ({
  ...raw,
  metadata: raw.metadata ?? NO_CONTAINER,
  image: { image: raw.image?.image ?? '' },
  createdAt: BigInt(raw.createdAt),
});

export function toPodSandboxStatus({ network, linux, ...raw }: RawPodSandboxStatus): PodSandboxStatus {
  const namespaces = linux?.namespaces;
  return {
    ...raw,
    metadata: raw.metadata ?? NO_POD,
    createdAt: BigInt(raw.createdAt),
    ...(network === null ? {} : { network }),
    ...(namespaces?.options ? { linux: { namespaces } } : {}),
  };
}

export const toContainerStatus = ({ user, ...raw }: RawContainerStatus): ContainerStatus => ({
  ...raw,
  ...(user?.linux ? { user: toUser(user.linux) } : {}),
  metadata: raw.metadata ?? NO_CONTAINER,
  image: { image: raw.image?.image ?? '' },
  createdAt: BigInt(raw.createdAt),
  startedAt: BigInt(raw.startedAt),
  finishedAt: BigInt(raw.finishedAt),
});

const toUser = (linux: { uid: string; gid: string; supplementalGroups: readonly string[] }) => ({
  uid: Number(linux.uid),
  gid: Number(linux.gid),
  supplementalGroups: linux.supplementalGroups.map(Number),
});

const NO_FEATURES: RuntimeHandlerFeatures = { recursiveReadOnlyMounts: false, userNamespaces: false };

export const toRuntimeStatus = ({ status, runtimeHandlers, features }: RawRuntimeStatus): RuntimeStatus => ({
  conditions: status?.conditions ?? [],
  handlers: runtimeHandlers.map((one) => ({ name: one.name, features: one.features ?? NO_FEATURES })),
  features: features ?? undefined,
});

/** Undefined when it does not say of which pod it is: nobody could use it. */
export function toContainerEvent(raw: RawContainerEvent): ContainerEvent | undefined {
  const podUid = raw.podSandboxStatus?.metadata?.uid ?? '';
  if (podUid === '') return undefined;
  return { containerId: raw.containerId, type: raw.containerEventType, podUid };
}

export const toImage = ({ uid, ...raw }: RawImage): Image => ({
  ...raw,
  size: Number(raw.size),
  ...(uid === null ? {} : { uid: { value: Number(uid.value) } }),
});

export const toFilesystem = (raw: RawFilesystem) => ({
  mountpoint: raw.fsId?.mountpoint ?? '',
  usedBytes: Number(raw.usedBytes?.value ?? 0),
  inodesUsed: Number(raw.inodesUsed?.value ?? 0),
});

const numberOf = (wrapped: Wrapped | undefined): number => Number(wrapped?.value ?? 0);

export const toContainerStats = ({
  attributes,
  cpu,
  memory,
  writableLayer,
}: RawContainerStats): ContainerStats => ({
  id: attributes?.id ?? '',
  cpuCoreNanoSeconds: numberOf(cpu?.usageCoreNanoSeconds),
  workingSetBytes: numberOf(memory?.workingSetBytes),
  usedBytes: numberOf(writableLayer?.usedBytes),
  inodesUsed: numberOf(writableLayer?.inodesUsed),
});

export const toPodSandboxStats = ({ attributes, linux }: RawPodSandboxStats): PodSandboxStats => ({
  id: attributes?.id ?? '',
  podUid: attributes?.metadata?.uid ?? '',
  cpuCoreNanoSeconds: numberOf(linux?.cpu?.usageCoreNanoSeconds),
  workingSetBytes: numberOf(linux?.memory?.workingSetBytes),
  rxBytes: numberOf(linux?.network?.defaultInterface?.rxBytes),
  txBytes: numberOf(linux?.network?.defaultInterface?.txBytes),
  processCount: numberOf(linux?.process?.processCount),
  containers: (linux?.containers ?? []).map(toContainerStats),
});

const toMetric = (raw: RawMetric): Metric => ({ ...raw, value: numberOf(raw.value) });

export const toPodSandboxMetrics = (raw: RawPodSandboxMetrics): PodSandboxMetrics => ({
  podSandboxId: raw.podSandboxId,
  metrics: raw.metrics.map(toMetric),
  containerMetrics: raw.containerMetrics.map(({ containerId, metrics }) => ({
    containerId,
    metrics: metrics.map(toMetric),
  })),
});
