// The container runtime behind a unix socket: each call of runtime.ts as one gRPC call.
// Guarantees: stopping and removing what is gone is success; the caller closes what it opened.
import { type Connection, connect, DEFAULT_TIMEOUT_MS } from './connection.js';
import {
  type RawContainer,
  type RawContainerEvent,
  type RawContainerStats,
  type RawContainerStatus,
  type RawFilesystem,
  type RawImage,
  type RawPodSandbox,
  type RawPodSandboxStatus,
  type RawRuntimeStatus,
  toContainer,
  toContainerEvent,
  toContainerStatus,
  toFilesystem,
  toImage,
  toPodSandbox,
  toPodSandboxStatus,
  toRuntimeStatus,
} from './decode.js';
import { type ContainerRuntime, CriError, type ImageService, type RuntimeService } from './runtime.js';

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

function runtimeService(connection: Connection): RuntimeService {
  const call = <T>(method: string, request: object, timeoutMs: number | 'none' = DEFAULT_TIMEOUT_MS) =>
    connection.call<T>('RuntimeService', method, request, timeoutMs === 'none' ? NO_TIMEOUT : { timeoutMs });
  const found = async <T, R>(method: string, request: object, convert: (raw: T) => R): Promise<R> => {
    const { status } = await call<{ status: T | null }>(method, request);
    if (status === null) throw new CriError(method, 'INTERNAL', 'the runtime answered without a status');
    return convert(status);
  };
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
    async listPodSandbox(filter = {}) {
      const { id, labels: labelSelector } = filter;
      const answer = await call<{ items: RawPodSandbox[] }>('ListPodSandbox', {
        filter: { id, labelSelector },
      });
      return answer.items.map(toPodSandbox);
    },

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
    async listContainers(filter = {}) {
      const { podSandboxId, labels: labelSelector } = filter;
      const answer = await call<{ containers: RawContainer[] }>('ListContainers', {
        filter: { podSandboxId, labelSelector },
      });
      return answer.containers.map(toContainer);
    },
    containerStatus: (id) =>
      found<RawContainerStatus, ReturnType<typeof toContainerStatus>>(
        'ContainerStatus',
        { containerId: id },
        toContainerStatus,
      ),
    async listContainerStats() {
      const answer = await call<{ stats: RawContainerStats[] }>('ListContainerStats', {});
      return answer.stats.map(({ attributes, writableLayer }) => ({
        id: attributes?.id ?? '',
        usedBytes: Number(writableLayer?.usedBytes?.value ?? 0),
        inodesUsed: Number(writableLayer?.inodesUsed?.value ?? 0),
      }));
    },
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
    containerEvents: (heard, signal) =>
      connection.stream<RawContainerEvent>(
        'RuntimeService',
        'GetContainerEvents',
        (raw) => {
          const event = toContainerEvent(raw);
          if (event !== undefined) heard(event);
        },
        signal,
      ),
  };
}

function imageService(connection: Connection): ImageService {
  const call = <T>(method: string, request: object, options?: { timeoutMs: number | undefined }) =>
    connection.call<T>('ImageService', method, request, options);
  return {
    async listImages() {
      return (await call<{ images: RawImage[] }>('ListImages', {})).images.map(toImage);
    },
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
