// Brings granted resources to containers that run: the pod's control group, then the containers through the runtime.
// Guarantees: a group never has less than what is inside it; a limit below what is in use is refused, not enforced.
import type { V1Container, V1ResourceRequirements } from '../../api/gen/types.js';
import type { LinuxContainerResources, RuntimeService } from '../../cri/runtime.js';
import type { CgroupPort, CgroupResources } from '../../kernel/cgroup/port.js';
import type { KubeletConfig } from '../config.js';
import { KubeletError } from '../error.js';
import type { Pod } from '../ports.js';
import { containerResources, type MachineLimits, podCgroup, podCgroupResources } from '../resources.js';
import { type ResourcesByName, withResources } from './amounts.js';

interface ActuatorOptions {
  readonly config: KubeletConfig;
  readonly runtime: RuntimeService;
  readonly cgroups: CgroupPort | undefined;
  readonly machine: () => MachineLimits;
  /** What a control group uses of memory; undefined where nobody knows. */
  readonly memoryOf: (group: string) => Promise<number | undefined>;
}

interface ResizeOrder {
  readonly pod: Pod;
  readonly containers: readonly { readonly container: V1Container; readonly id: string }[];
  /** What the containers have now, and the pod as a whole. */
  readonly given: ResourcesByName;
  readonly givenWhole: V1ResourceRequirements | undefined;
  readonly sandboxId: string | undefined;
}

export class ResizeActuator {
  readonly #options: ActuatorOptions;

  constructor(options: ActuatorOptions) {
    this.#options = options;
  }

  async resize({ pod, containers, given, givenWhole, sandboxId }: ResizeOrder): Promise<void> {
    const { config, runtime, cgroups, machine } = this.#options;
    const group = podCgroup(config.cgroupRoot, pod.spec, pod.metadata.uid);
    const limits = { ...machine(), podPidsLimit: config.podPidsLimit };
    const after = podCgroupResources(pod.spec, limits);
    const before = podCgroupResources(withResources(pod.spec, given, givenWhole), limits);
    const isOurs = config.cgroupsPerQOS && cgroups !== undefined;
    await this.#refuseBelowUse(group, after.memoryLimitBytes, 'pod');
    if (isOurs) await cgroups.update(group, larger(before, after));
    for (const { container, id } of containers) {
      const wanted = containerResources(pod.spec, container, machine());
      await this.#refuseBelowUse(
        `${group}/${id}`,
        wanted.memoryLimitInBytes,
        `container "${container.name}"`,
      );
      await runtime.updateContainerResources(id, wanted);
    }
    if (isOurs) await cgroups.update(group, after);
    // For plugins of the runtime, where it has such: what the kubelet has done is done.
    if (sandboxId !== undefined)
      await runtime.updatePodSandboxResources(sandboxId, sandboxResources(after)).catch(() => {});
  }

  async #refuseBelowUse(group: string, limit: number | undefined, what: string): Promise<void> {
    if (limit === undefined) return;
    const used = await this.#options.memoryOf(group);
    if (used === undefined || used <= limit) return;
    throw new KubeletError(
      'ResizeError',
      `attempting to set ${what} memory limit (${limit}) below current usage (${used})`,
    );
  }
}

function sandboxResources(group: CgroupResources): LinuxContainerResources {
  const { cpuShares, cpuPeriodUs, cpuQuotaUs, memoryLimitBytes } = group;
  return {
    ...(cpuShares === undefined ? {} : { cpuShares }),
    ...(cpuPeriodUs === undefined ? {} : { cpuPeriod: cpuPeriodUs }),
    ...(cpuQuotaUs === undefined ? {} : { cpuQuota: cpuQuotaUs }),
    ...(memoryLimitBytes === undefined ? {} : { memoryLimitInBytes: memoryLimitBytes }),
  };
}

/** Room for both: a limit that only one of the two has is left for the end. */
function larger(one: CgroupResources, other: CgroupResources): CgroupResources {
  const most = (key: 'cpuShares' | 'cpuPeriodUs' | 'cpuQuotaUs' | 'memoryLimitBytes') => {
    const [a, b] = [one[key], other[key]];
    return a === undefined || b === undefined ? {} : { [key]: Math.max(a, b) };
  };
  return { ...most('cpuShares'), ...most('cpuPeriodUs'), ...most('cpuQuotaUs'), ...most('memoryLimitBytes') };
}
