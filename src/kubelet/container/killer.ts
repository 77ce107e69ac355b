// Stopping containers and whole pods: preStop, TERM, KILL, then the sandbox.
// Guarantees: idempotent; the grace period covers hook and TERM together; hooks run at once, but a sidecar is sent TERM only
// after the containers it serves have ended or the grace period has.
import type { V1Container } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import { within } from '../../base/deadline.js';
import { messageOf } from '../../base/errorMessage.js';
import type { ContainerStatus, RuntimeService } from '../../cri/runtime.js';
import { abortable, sleep } from '../abort.js';
import { type EventSink, fieldPathOf } from '../events.js';
import { allContainers, graceSecondsOf, isRestartable } from '../names.js';
import type { Pod, ProbeKind } from '../ports.js';
import { livingContainers, type RuntimePod, readySandbox, sandboxIps } from '../runtime/runtimePod.js';
import { runHook } from './hooks.js';

interface KillerOptions {
  readonly runtime: RuntimeService;
  readonly events: EventSink;
  readonly log: Log;
  readonly now: () => number;
}

interface KillOptions {
  /** Instead of the pod's own grace period. */
  readonly graceSeconds?: number | undefined;
  readonly message?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface ContainerKillOptions extends KillOptions {
  readonly probe?: ProbeKind | undefined;
  /** Before TERM it waits for this, but not beyond its grace period. */
  readonly turn?: Promise<unknown> | undefined;
}

/** Even after a long hook a container gets this long to obey TERM. */
const MIN_GRACE_SECONDS = 2;

export class Killer {
  readonly #options: KillerOptions;

  constructor(options: KillerOptions) {
    this.#options = options;
  }

  /** `pod` is undefined for one that only the runtime still knows. */
  async killPod(pod: Pod | undefined, runtimePod: RuntimePod, kill: KillOptions = {}): Promise<void> {
    const living = livingContainers(runtimePod);
    const sidecars = (pod?.spec.initContainers ?? []).filter(isRestartable).map(({ name }) => name);
    const isSidecar = ({ metadata }: ContainerStatus) => sidecars.includes(metadata.name);
    const podIp = sandboxIps(readySandbox(runtimePod))[0];
    const stop = (run: ContainerStatus, turn?: Promise<unknown>) =>
      this.killContainer(pod, run, podIp, { ...kill, turn });
    const stops = living.filter((run) => !isSidecar(run)).map((run) => stop(run));
    // The last sidecar started is the first to go.
    const ordered = living.filter(isSidecar).sort((a, b) => order(sidecars, b) - order(sidecars, a));
    for (const run of ordered) {
      const turn = Promise.all(stops);
      turn.catch(() => {}); // told below, also when the hook before it takes longer
      stops.push(stop(run, turn));
    }
    const failed = (await Promise.allSettled(stops)).find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    // Dead ones too: a sandbox that died by itself still holds its address.
    await Promise.all(
      runtimePod.sandboxes.map(({ id }) => abortable(this.#options.runtime.stopPodSandbox(id), kill.signal)),
    );
  }

  async killContainer(
    pod: Pod | undefined,
    run: ContainerStatus,
    podIp: string | undefined,
    kill: ContainerKillOptions = {},
  ): Promise<void> {
    const { runtime, events, now } = this.#options;
    const { name } = run.metadata;
    const container = pod && allContainers(pod).find((one) => one.name === name);
    if (pod !== undefined) {
      const message = kill.message ?? `Stopping container ${name}`;
      events.event(pod, {
        type: 'Normal',
        reason: 'Killing',
        message,
        fieldPath: fieldPathOf(pod, { name }),
      });
    }
    const probeGrace = kill.probe && container?.[`${kill.probe}Probe`]?.terminationGracePeriodSeconds;
    const grace = kill.graceSeconds ?? probeGrace ?? graceSeconds(pod, run);
    const begun = now();
    if (pod !== undefined && container?.lifecycle?.preStop !== undefined && grace > 0)
      await this.#preStop(pod, container, run, { podIp, grace, signal: kill.signal });
    if (kill.turn !== undefined)
      await within(abortable(kill.turn, kill.signal), grace * 1000 - (now() - begun), () => undefined);
    const left = grace - Math.ceil((now() - begun) / 1000);
    const seconds = grace === 0 ? 0 : Math.max(Math.min(grace, MIN_GRACE_SECONDS), left);
    await abortable(runtime.stopContainer(run.id, seconds), kill.signal);
  }

  async #preStop(
    pod: Pod,
    container: V1Container,
    run: ContainerStatus,
    around: { podIp: string | undefined; grace: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    const handler = container.lifecycle?.preStop;
    if (handler === undefined) return;
    const { runtime, events, log } = this.#options;
    const over = new AbortController();
    const signal = around.signal === undefined ? over.signal : AbortSignal.any([around.signal, over.signal]);
    const target = { pod, container, containerId: run.id, podIp: around.podIp };
    try {
      const hook = runHook({ runtime, events }, handler, target, { timeoutSeconds: around.grace, signal });
      await abortable(Promise.race([hook, sleep(around.grace * 1000, over.signal)]), around.signal);
    } catch (error) {
      if (around.signal?.aborted) throw error;
      // A hook that fails must not keep the container alive.
      const message = 'PreStopHook failed';
      events.event(pod, {
        type: 'Warning',
        reason: 'FailedPreStopHook',
        message,
        fieldPath: fieldPathOf(pod, container),
      });
      log.warn(message, { pod: pod.metadata.name, container: container.name, error: messageOf(error) });
    } finally {
      over.abort();
    }
  }
}

function graceSeconds(pod: Pod | undefined, run: ContainerStatus): number {
  if (pod === undefined) return graceSecondsOf(run);
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds !== undefined)
    return deletionGracePeriodSeconds;
  return pod.spec.terminationGracePeriodSeconds ?? 30;
}

const order = (names: readonly string[], run: ContainerStatus) => names.indexOf(run.metadata.name);
