// One run of a container: back-off, image, configuration, create, start, postStart.
// Guarantees: a failure is remembered as the container's waiting reason and told as an event; it never stops the others.
import type { V1Container, V1Volume } from '../../api/gen/types.js';
import { KeyedBackOff } from '../../base/backOff.js';
import { messageOf } from '../../base/errorMessage.js';
import type { ContainerStatus, PodSandboxConfig, RuntimeService } from '../../cri/runtime.js';
import { abortable } from '../abort.js';
import { KubeletError, type KubeletReason } from '../error.js';
import { type EventSink, fieldPathOf } from '../events.js';
import type { PullCredential } from '../imageAccess.js';
import type { ImagePuller, PulledImage } from '../images.js';
import { containerHash, hashOf, podText, restartCountOf } from '../names.js';
import type { ContainerEnvironment, Pod } from '../ports.js';
import type { MachineLimits } from '../resources.js';
import { nanosToMs } from '../runtime/runtimePod.js';
import type { StartFailure } from '../status/containerStatuses.js';
import { containerConfig } from './containerConfig.js';
import { runHook } from './hooks.js';
import type { Killer } from './killer.js';

interface StarterOptions {
  readonly runtime: RuntimeService;
  readonly images: ImagePuller;
  readonly environment: ContainerEnvironment;
  readonly events: EventSink;
  /** Ends a container whose postStart failed. */
  readonly killer: Killer;
  readonly machine: () => MachineLimits;
  readonly now: () => number;
  readonly maxBackOffMs: number;
  readonly seccompRoot: string;
  readonly seccompDefault?: boolean;
}

export interface StartRequest {
  readonly pod: Pod;
  readonly container: V1Container;
  readonly sandboxId: string;
  readonly sandboxConfig: PodSandboxConfig;
  readonly podIps: readonly string[];
  readonly volumes: ReadonlyMap<string, string>;
  readonly previous: ContainerStatus | undefined;
  /** The last run that ended: what the back-off counts from, also when a probe ended the one after it. */
  readonly lastExit: ContainerStatus | undefined;
  /** Restarts the API shows; used when the runtime kept no trace of earlier runs. */
  readonly restartsShown: number;
  /** For the image of this container, or of a volume that it mounts. */
  readonly pullSecrets: (container: V1Container) => Promise<readonly PullCredential[]>;
  /** Of an ephemeral container: whose process namespace it enters. */
  readonly targetId?: string | undefined;
  /** Already on its way. */
  readonly image?: Promise<PulledImage> | undefined;
  readonly signal: AbortSignal;
}

const FIRST_BACK_OFF_MS = 10_000;
/** How long the reason of a failed pull is shown before its back-off is. */
const TELL_BACK_OFF_MS = 3_000;

export class ContainerStarter {
  readonly #options: StarterOptions;

  readonly #backOff: KeyedBackOff;
  /** By pod uid, then by container name. */
  readonly #failures = new Map<string, Map<string, StartFailure>>();
  /** By pod uid, newest first. */
  readonly #ends = new Map<string, readonly ContainerStatus[]>();

  constructor(options: StarterOptions) {
    this.#options = options;

    this.#backOff = new KeyedBackOff({
      firstMs: Math.min(FIRST_BACK_OFF_MS, options.maxBackOffMs),
      longestMs: options.maxBackOffMs,
    });
  }

  failuresOf(uid: string): ReadonlyMap<string, StartFailure> {
    return this.#failures.get(uid) ?? new Map();
  }

  /** Ends of runs of which the runtime will have no trace: the back-off counts from them all the same. */
  remember({ metadata }: Pod, runs: readonly ContainerStatus[]): void {
    this.#ends.set(metadata.uid, runs);
  }

  forget(uid: string): void {
    this.#failures.delete(uid);
    this.#ends.delete(uid);
    this.#backOff.forget(`${uid}_`);
    this.#options.images.forget(uid);
  }

  /** Begins to get the images of containers that will be started once their sandbox is there. */
  fetchImages(
    pod: Pod,
    containers: readonly V1Container[],
    secretsOf: (pod: Pod, container: V1Container) => Promise<readonly PullCredential[]>,
  ): ReadonlyMap<string, Promise<PulledImage>> {
    return new Map(
      containers.map((container) => {
        const image = secretsOf(pod, container).then((pullSecrets) =>
          this.#options.images.ensureImage(pod, container, { pullSecrets }),
        );
        // The start that waits for it hears of a failure; without a sandbox nobody does.
        image.catch(() => {});
        return [container.name, image];
      }),
    );
  }

  /** Answers when to try again, or undefined once the container runs. */
  async start(request: StartRequest): Promise<number | undefined> {
    const { pod, container, signal } = request;
    const own = this.#failures.get(pod.metadata.uid) ?? new Map<string, StartFailure>();
    this.#failures.set(pod.metadata.uid, own);
    const waitMs = this.#crashLoop(request);
    if (waitMs > 0) {
      const spanS = Math.round(this.#backOff.delayMs(keyOf(pod, container)) / 1000);
      this.#warn(
        request,
        'BackOff',
        `Back-off restarting failed container ${container.name} in pod ${podText(pod)}`,
      );
      const message = `back-off ${duration(spanS)} restarting failed container=${container.name} pod=${podText(pod)}`;
      own.set(container.name, { reason: 'CrashLoopBackOff', message });
      return waitMs;
    }
    try {
      await this.#run(request);
      own.delete(container.name);
      return undefined;
    } catch (error) {
      if (signal.aborted) throw error;
      const { reason, message } = asFailure(error);
      own.set(container.name, { reason, message });
      const retryMs = this.#options.images.retryAfterMs(pod, container) || FIRST_BACK_OFF_MS;
      // The next look finds the image in back-off, and says so.
      return reason === 'ErrImagePull' ? Math.min(retryMs, TELL_BACK_OFF_MS) : retryMs;
    }
  }

  /** Milliseconds to wait before the next run; lengthens the back-off when there are none. */
  #crashLoop({ pod, container, ...request }: StartRequest): number {
    const remembered = this.#ends.get(pod.metadata.uid) ?? [];
    const lastExit = request.lastExit ?? remembered.find(({ metadata }) => metadata.name === container.name);
    if (lastExit === undefined || hashOf(lastExit) !== containerHash(container)) return 0;
    const key = keyOf(pod, container);
    const endedAt = nanosToMs(lastExit.finishedAt);
    const now = this.#options.now();
    const waitMs = this.#backOff.remainingMs(key, now, endedAt);
    if (waitMs === 0) this.#backOff.failed(key, now, endedAt);
    return waitMs;
  }

  async #run(request: StartRequest): Promise<void> {
    const { pod, container, signal } = request;
    const { runtime, events, killer } = this.#options;
    const config = await this.#configure(request);
    signal.throwIfAborted();
    const id = await this.#attempt(request, 'CreateContainerError', () =>
      runtime.createContainer(request.sandboxId, config, request.sandboxConfig),
    );
    this.#tell(request, 'Created', 'Container created');
    await this.#attempt(request, 'RunContainerError', () => runtime.startContainer(id));
    this.#tell(request, 'Started', 'Container started');
    const handler = container.lifecycle?.postStart;
    if (handler === undefined) return;
    const podIp = request.podIps[0];
    const target = { pod, container, containerId: id, podIp };
    try {
      await abortable(runHook({ runtime, events }, handler, target, { signal }), signal);
    } catch (error) {
      if (signal.aborted) throw error;
      // What the hook said may hold secrets, and events are read by more people than pods are.
      this.#warn(request, 'FailedPostStartHook', 'PostStartHook failed');
      const run = await runtime.containerStatus(id);
      await killer.killContainer(pod, run, podIp, { message: 'FailedPostStartHook', signal });
      throw new KubeletError('PostStartHookError', `PostStartHook failed: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  async #configure(request: StartRequest) {
    const { pod, container, podIps, volumes, previous } = request;
    const { images, environment, machine } = this.#options;
    const pull = (one: V1Container) =>
      request.pullSecrets(one).then((pullSecrets) => images.ensureImage(pod, one, { pullSecrets }));
    const [pulled, ...volumeImages] = await abortable(
      Promise.all([
        request.image ?? pull(container),
        ...imageVolumes(pod, container).map(async ({ name, image = {} }) => {
          const { reference, pullPolicy } = image;
          const asked = { name: container.name, image: reference, imagePullPolicy: pullPolicy };
          return [name, (await pull(asked)).imageRef] as const;
        }),
      ]),
      request.signal,
    ).catch((error: unknown) => {
      // The pull told its own story; this is the line that says what became of the container.
      if (error instanceof KubeletError) this.#warn(request, 'Failed', `Error: ${error.reason}`);
      throw error;
    });
    const restartCount = previous === undefined ? request.restartsShown : restartCountOf(previous) + 1;
    return this.#attempt(request, 'CreateContainerConfigError', async () => {
      const [envs, mounts] = await Promise.all([
        environment.variables({ pod, container, volumes, podIps }),
        environment.mounts({
          pod,
          container,
          volumes,
          podIps,
          attempt: restartCount,
          images: new Map(volumeImages),
        }),
      ]);
      return containerConfig({
        pod,
        container,
        restartCount,
        envs,
        mounts,
        imageRef: pulled.imageRef,
        image: pulled.image,
        targetId: request.targetId,
        machine: machine(),
        ids: request.sandboxConfig.linux.securityContext.namespaceOptions.usernsOptions?.uids[0],
        seccompRoot: this.#options.seccompRoot,
        seccompDefault: this.#options.seccompDefault,
      });
    });
  }

  async #attempt<T>(request: StartRequest, reason: KubeletReason, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (request.signal.aborted) throw error;
      this.#warn(request, 'Failed', `Error: ${messageOf(error)}`);
      throw error instanceof KubeletError
        ? error
        : new KubeletError(reason, messageOf(error), { cause: error });
    }
  }

  #tell({ pod, container }: StartRequest, reason: string, message: string): void {
    const fieldPath = fieldPathOf(pod, container);
    this.#options.events.event(pod, { type: 'Normal', reason, message, fieldPath });
  }

  #warn({ pod, container }: StartRequest, reason: string, message: string): void {
    const fieldPath = fieldPathOf(pod, container);
    this.#options.events.event(pod, { type: 'Warning', reason, message, fieldPath });
  }
}

/** Those that this container mounts. */
function imageVolumes({ spec }: Pod, { volumeMounts = [] }: V1Container): readonly V1Volume[] {
  return (spec.volumes ?? []).filter(
    ({ name, image }) => image !== undefined && volumeMounts.some((mount) => mount.name === name),
  );
}

function asFailure(error: unknown): StartFailure {
  return error instanceof KubeletError
    ? { reason: error.reason, message: error.message }
    : { reason: 'CreateContainerError', message: messageOf(error) };
}

const keyOf = (pod: Pod, container: V1Container) =>
  `${pod.metadata.uid}_${container.name}_${containerHash(container)}`;

/** As Go prints it: `10s`, `1m20s`, `5m0s`. */
const duration = (seconds: number) =>
  seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
