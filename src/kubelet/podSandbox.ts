// Creates what the containers of a pod need first: its control group, its directories, its sandbox with its addresses.
// Guarantees: what is there already is kept; a sandbox that cannot be made is told as an event and as the pod's reason.
import { mkdir } from 'node:fs/promises';
import { messageOf } from '../base/errorMessage.js';
import type { IdMapping, PodSandboxConfig, RuntimeService } from '../cri/runtime.js';
import type { CgroupPort } from '../kernel/cgroup/port.js';
import { abortable } from './abort.js';
import type { KubeletConfig } from './config.js';
import { podLogDirectory, sandboxConfig } from './container/sandboxConfig.js';
import type { UserNamespaces } from './container/userNamespaces.js';
import { KubeletError } from './error.js';
import type { EventSink } from './events.js';
import { allContainers } from './names.js';
import type { PodActions } from './podActions.js';
import type { Pod } from './ports.js';
import { type MachineLimits, podCgroup, podCgroupPlaces, podCgroupResources } from './resources.js';
import { sandboxIps } from './runtime/runtimePod.js';
import type { RuntimeClasses } from './runtimeClasses.js';
import { podDir } from './volumes/files.js';

/** Told of a pod's addresses before any of its containers starts; what it waits for, they wait for. */
export type Attached = (pod: Pod, ips: readonly string[]) => Promise<void>;

interface PodSandboxesOptions {
  readonly config: KubeletConfig;
  readonly runtime: RuntimeService;
  readonly cgroups: CgroupPort | undefined;
  readonly machine: () => MachineLimits;
  readonly users: UserNamespaces;
  /** The runtime can give this pod users of its own. */
  readonly canMapUsers: (pod: Pod) => boolean;
  readonly classes: RuntimeClasses;
  readonly events: EventSink;
  readonly hostIps: () => readonly string[];
  readonly attached: Attached | undefined;
  readonly dnsOf: (pod: Pod) => Promise<NonNullable<PodSandboxConfig['dnsConfig']>>;
}

interface PodSandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly podIps: readonly string[];
}

export class PodSandboxes {
  readonly #options: PodSandboxesOptions;

  constructor(options: PodSandboxesOptions) {
    this.#options = options;
  }

  /** The sandbox that the pod has, or a new one, with its addresses. */
  async of(
    pod: Pod,
    { createSandbox, sandboxId, attempt }: PodActions,
    signal: AbortSignal,
  ): Promise<PodSandbox> {
    await abortable(this.#options.classes.ready(pod), signal);
    const [config] = await Promise.all([
      this.#sandboxConfig(pod, attempt).catch((error: unknown) => this.#refuse(pod, error)),
      this.#prepare(pod),
    ]);
    const id = createSandbox || sandboxId === undefined ? await this.#create(pod, config) : sandboxId;
    const podIps = await this.#podIps(pod, id);
    await abortable(this.#options.attached?.(pod, podIps) ?? Promise.resolve(), signal);
    return { id, config, podIps };
  }

  async #prepare(pod: Pod): Promise<void> {
    const { config, cgroups, machine } = this.#options;
    const { podPidsLimit } = config;
    const group = podCgroup(config.cgroupRoot, pod.spec, pod.metadata.uid);
    const limits = podCgroupResources(pod.spec, { ...machine(), podPidsLimit });
    const logs = podLogDirectory(config.podLogsDir, pod);
    await Promise.all([
      config.cgroupsPerQOS ? cgroups?.create(group, limits) : undefined,
      mkdir(podDir(config.rootDir, pod.metadata.uid), { recursive: true, mode: 0o750 }),
      ...allContainers(pod).map(({ name }) => mkdir(`${logs}/${name}`, { recursive: true, mode: 0o755 })),
    ]);
  }

  async #sandboxConfig(pod: Pod, attempt: number): Promise<PodSandboxConfig> {
    const { config, dnsOf, machine } = this.#options;
    const cgroupParent = config.cgroupsPerQOS
      ? podCgroup(config.cgroupRoot, pod.spec, pod.metadata.uid)
      : config.cgroupRoot === '/'
        ? ''
        : config.cgroupRoot;
    const { podLogsDir, clusterDomain } = config;
    const [dns, ids] = await Promise.all([dnsOf(pod), this.#idsOf(pod)]);
    const around = { attempt, podLogsDir, cgroupParent, clusterDomain, dns, ids, machine: machine() };
    return sandboxConfig(pod, around);
  }

  /** Of a pod that has its own users. Without them its root would have the rights of the node's. */
  async #idsOf(pod: Pod): Promise<IdMapping | undefined> {
    if (pod.spec.hostUsers !== false) return undefined;
    const { config, users, canMapUsers } = this.#options;
    if (!canMapUsers(pod))
      throw new KubeletError(
        'CreatePodSandboxError',
        "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
      );
    await mkdir(podDir(config.rootDir, pod.metadata.uid), { recursive: true, mode: 0o750 });
    return users.rangeOf(pod.metadata.uid);
  }

  async #create(pod: Pod, config: PodSandboxConfig): Promise<string> {
    const { runtime, classes } = this.#options;
    try {
      const handler = classes.handlerOf(pod);
      if (handler === undefined)
        throw new Error(`runtimeclass.node.k8s.io "${pod.spec.runtimeClassName}" not found`);
      return await runtime.runPodSandbox(config, handler);
    } catch (error) {
      return this.#refuse(pod, error);
    }
  }

  #refuse(pod: Pod, cause: unknown): never {
    const message = `Failed to create pod sandbox: ${messageOf(cause)}`;
    this.#options.events.event(pod, { type: 'Warning', reason: 'FailedCreatePodSandBox', message });
    throw new KubeletError('CreatePodSandboxError', messageOf(cause), { cause });
  }

  async #podIps(pod: Pod, sandboxId: string): Promise<readonly string[]> {
    if (pod.spec.hostNetwork === true) return this.#options.hostIps();
    return sandboxIps(await this.#options.runtime.podSandboxStatus(sandboxId));
  }

  /** Ends whatever runs in the pod, without the runtime. Answers false where pods have no groups to tell it by. */
  async killProcesses(uid: string): Promise<boolean> {
    const { config, cgroups } = this.#options;
    if (!config.cgroupsPerQOS || cgroups === undefined) return false;
    for (const group of podCgroupPlaces(config.cgroupRoot, uid)) await cgroups.kill(group);
    return true;
  }

  /** A pod may have changed its class, and an orphan's is unknown: all three places of its group are cleared. */
  async forget(uid: string): Promise<void> {
    const { config, cgroups, users } = this.#options;
    if (config.cgroupsPerQOS)
      for (const group of podCgroupPlaces(config.cgroupRoot, uid)) await cgroups?.remove(group);
    users.forget(uid);
  }
}
