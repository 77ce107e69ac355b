// The container runtime behind a unix socket: each call of runtime.ts as one gRPC call.
// Guarantees: stopping and removing what is gone is success; the caller closes what it opened.
import { type Connection, connect, DEFAULT_TIMEOUT_MS } from './connection.js';
import {
  type RawContainer,
  type RawContainerStats,
  type RawContainerStatus,
  type RawFilesystem,
  type RawImage,
  type RawPodSandbox,
  type RawPodSandboxMetrics,
  type RawPodSandboxStats,
  type RawPodSandboxStatus,
  type RawRuntimeStatus,
  toContainer,
  toContainerStats,
  toContainerStatus,
  toFilesystem,
  toImage,
  toPodSandbox,
  toPodSandboxMetrics,
  toPodSandboxStats,
  toPodSandboxStatus,
  toRuntimeStatus,
} from './decode.js';
import { CriError } from './error.js';
import { followEvents } from './events.js';
import type {
  ContainerFilter,
  ContainerRuntime,
  ImageService,
  MetricDescriptor,
  RuntimeService,
  SandboxFilter,
  StringMap,
} from './runtime.js';

// A sandbox includes its network, which may wait for others on the node.
const SANDBOX_TIMEOUT_MS = 240_000;
// Pulls are long; the caller that gives up on one does so by its own rules.
const NO_TIMEOUT = { timeoutMs: undefined };

/** `endpoint` is of the form `unix:///run/containerd/containerd.sock`. Connects with the first call. */
export function openRuntime(endpoint: string): ContainerRuntime {
  const connection = connect(endpoint);
  return {
    runtime: runtimeService(connection),
    images: imageService(connection),
    close: () => connection.close(),
  };
}

/** A list that comes in pieces, whole. */
async function collect<T, R>(
  connection: Connection,
  [service, method]: readonly ['RuntimeService' | 'ImageService', string],
  request: object,
  itemsOf: (piece: T) => readonly R[],
): Promise<R[]> {
  const all: R[] = [];
  await connection.stream<T>(service, method, request, (piece) => all.push(...itemsOf(piece)), {
    timeoutMs: DEFAULT_TIMEOUT_MS,
  });
  return all;
}

const sandboxFilter = ({ id, labels: labelSelector }: SandboxFilter) => ({ filter: { id, labelSelector } });
const containerFilter = ({ podSandboxId, labels: labelSelector }: ContainerFilter) => ({
  filter: { podSandboxId, labelSelector },
});

const sandboxesOf = ({ items }: { items: RawPodSandbox[] }) => items.map(toPodSandbox);
const containersOf = ({ containers }: { containers: RawContainer[] }) => containers.map(toContainer);
const imagesOf = ({ images }: { images: RawImage[] }) => images.map(toImage);
const containerStatsOf = ({ stats }: { stats: RawContainerStats[] }) => stats.map(toContainerStats);
const sandboxStatsOf = ({ stats }: { stats: RawPodSandboxStats[] }) => stats.map(toPodSandboxStats);
const metricsOf = ({ podMetrics }: { podMetrics: RawPodSandboxMetrics[] }) =>
  podMetrics.map(toPodSandboxMetrics);

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a table, one row per call of the runtime
function runtimeService(connection: Connection): RuntimeService {
  const call = <T>(method: string, request: object, timeoutMs: number | 'none' = DEFAULT_TIMEOUT_MS) =>
    connection.call<T>('RuntimeService', method, request, timeoutMs === 'none' ? NO_TIMEOUT : { timeoutMs });
  const found = async <T, R>(
    method: string,
    request: object,
    convert: (raw: T) => R,
    field: 'status' | 'stats' = 'status',
  ): Promise<R> => {
    const { [field]: raw } = await call<{ [K in typeof field]?: T | null }>(method, request);
    if (raw == null) throw new CriError(method, 'INTERNAL', `the runtime answered without a ${field}`);
    return convert(raw);
  };
  const pieces = <T, R>(method: string, request: object, itemsOf: (piece: T) => readonly R[]) =>
    collect(connection, ['RuntimeService', method], request, itemsOf);
  const url = async (method: string, request: object) => (await call<{ url: string }>(method, request)).url;
  return {
    version: () => call('Version', { version: 'v1' }),
    async status() {
      return toRuntimeStatus(await call<RawRuntimeStatus>('Status', {}));
    },

    async runPodSandbox(config, runtimeHandler = '') {
      const request = { config, runtimeHandler };
      const answer = await call<{ podSandboxId: string }>('RunPodSandbox', request, SANDBOX_TIMEOUT_MS);
      return answer.podSandboxId;
    },
    stopPodSandbox: (id) => unlessGone(call('StopPodSandbox', { podSandboxId: id }, SANDBOX_TIMEOUT_MS)),
    removePodSandbox: (id) => unlessGone(call('RemovePodSandbox', { podSandboxId: id })),
    podSandboxStatus: (id) =>
      found<RawPodSandboxStatus, ReturnType<typeof toPodSandboxStatus>>(
        'PodSandboxStatus',
        { podSandboxId: id },
        toPodSandboxStatus,
      ),
    async podSandboxInfo(id) {
      const request = { podSandboxId: id, verbose: true };
      return (await call<{ info?: StringMap | null }>('PodSandboxStatus', request)).info ?? {};
    },
    listPodSandbox: async (filter = {}) => sandboxesOf(await call('ListPodSandbox', sandboxFilter(filter))),
    streamPodSandboxes: (filter = {}) => pieces('StreamPodSandboxes', sandboxFilter(filter), sandboxesOf),
    updatePodSandboxResources: (id, resources) =>
      done(call('UpdatePodSandboxResources', { podSandboxId: id, resources })),

    async createContainer(podSandboxId, config, sandboxConfig) {
      const request = { podSandboxId, config, sandboxConfig };
      return (await call<{ containerId: string }>('CreateContainer', request)).containerId;
    },
    startContainer: (id) => done(call('StartContainer', { containerId: id })),
    stopContainer: (id, timeout) =>
      unlessGone(call('StopContainer', { containerId: id, timeout }, timeout * 1_000 + DEFAULT_TIMEOUT_MS)),
    updateContainerResources: (id, linux) =>
      done(call('UpdateContainerResources', { containerId: id, linux })),
    removeContainer: (id) => unlessGone(call('RemoveContainer', { containerId: id })),
    listContainers: async (filter = {}) =>
      containersOf(await call('ListContainers', containerFilter(filter))),
    streamContainers: (filter = {}) => pieces('StreamContainers', containerFilter(filter), containersOf),
    containerStatus: (id) =>
      found<RawContainerStatus, ReturnType<typeof toContainerStatus>>(
        'ContainerStatus',
        { containerId: id },
        toContainerStatus,
      ),
    containerStats: (id) => found('ContainerStats', { containerId: id }, toContainerStats, 'stats'),
    listContainerStats: async () => containerStatsOf(await call('ListContainerStats', {})),
    streamContainerStats: () => pieces('StreamContainerStats', {}, containerStatsOf),
    podSandboxStats: (id) => found('PodSandboxStats', { podSandboxId: id }, toPodSandboxStats, 'stats'),
    listPodSandboxStats: async (filter = {}) =>
      sandboxStatsOf(await call('ListPodSandboxStats', sandboxFilter(filter))),
    streamPodSandboxStats: (filter = {}) =>
      pieces('StreamPodSandboxStats', sandboxFilter(filter), sandboxStatsOf),
    listMetricDescriptors: async () =>
      (await call<{ descriptors: MetricDescriptor[] }>('ListMetricDescriptors', {})).descriptors,
    listPodSandboxMetrics: async () => metricsOf(await call('ListPodSandboxMetrics', {})),
    streamPodSandboxMetrics: () => pieces('StreamPodSandboxMetrics', {}, metricsOf),
    listPodSandboxBytes: () => connection.callBytes('RuntimeService', 'ListPodSandbox', {}),
    listContainersBytes: () => connection.callBytes('RuntimeService', 'ListContainers', {}),

    // The runtime itself ends what takes too long; ours is for a runtime that does not. 0 means as long as it takes.
    execSync: (id, cmd, timeout) =>
      call(
        'ExecSync',
        { containerId: id, cmd, timeout },
        timeout > 0 ? timeout * 1_000 + DEFAULT_TIMEOUT_MS : 'none',
      ),
    exec: (request) => url('Exec', request),
    attach: (request) => url('Attach', request),
    portForward: (podSandboxId, port) => url('PortForward', { podSandboxId, port }),
    reopenContainerLog: (id) => done(call('ReopenContainerLog', { containerId: id })),
    // The memory of a large container takes its time to be written.
    checkpointContainer: (id, location, timeout) =>
      done(
        call(
          'CheckpointContainer',
          { containerId: id, location, timeout },
          timeout > 0 ? timeout * 1_000 + DEFAULT_TIMEOUT_MS : 'none',
        ),
      ),
    async runtimeConfig() {
      const { linux } = await call<{ linux: { cgroupDriver: 'SYSTEMD' | 'CGROUPFS' } | null }>(
        'RuntimeConfig',
        {},
      );
      return { cgroupDriver: linux?.cgroupDriver };
    },
    updateRuntimeConfig: (podCidr) =>
      done(call('UpdateRuntimeConfig', { runtimeConfig: { networkConfig: { podCidr } } })),
    containerEvents: (heard, signal) => followEvents(connection, heard, signal),
  };
}

function imageService(connection: Connection): ImageService {
  const call = <T>(method: string, request: object, options?: { timeoutMs: number | undefined }) =>
    connection.call<T>('ImageService', method, request, options);
  return {
    listImages: async () => imagesOf(await call('ListImages', {})),
    streamImages: () => collect(connection, ['ImageService', 'StreamImages'], {}, imagesOf),
    async imageStatus(image) {
      const answer = await call<{ image: RawImage | null }>('ImageStatus', { image: { image } });
      return answer.image === null ? undefined : toImage(answer.image);
    },
    async pullImage(image, auth, sandboxConfig) {
      const request = { image: { image }, auth, sandboxConfig };
      return (await call<{ imageRef: string }>('PullImage', request, NO_TIMEOUT)).imageRef;
    },
    removeImage: (image) => unlessGone(call('RemoveImage', { image: { image } })),
    async imageFsInfo() {
      const answer = await call<{ imageFilesystems: RawFilesystem[] }>('ImageFsInfo', {});
      return answer.imageFilesystems.map(toFilesystem);
    },
  };
}

const done = async (call: Promise<unknown>): Promise<void> => void (await call);

async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof CriError && error.code === 'NOT_FOUND')) throw error;
  }
}
