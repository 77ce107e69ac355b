// The bare calls under a pod: RunPodSandbox, CreateContainer, StartContainer, asked of the same containerd.
// Guarantees: what is asked for is what the kubelet asks for, but for files that it mounts; what was made is removed.
import path from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/cluster/images/builtin.js';
import type { Layout } from '../../src/cluster/layout.js';
import type { ContainerConfig, ContainerRuntime, PodSandboxConfig } from '../../src/cri/runtime.js';
import { containerConfig } from '../../src/kubelet/container/containerConfig.js';
import { sandboxConfig } from '../../src/kubelet/container/sandboxConfig.js';
import type { Pod } from '../../src/kubelet/ports.js';

/** Without the labels and annotations of a kubelet's pod, so that the node's own does not take it for one of its own. */
const UNMARKED = { labels: {}, annotations: {} };
const MAIN = { name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '100000'] };
let made = 0;

export interface BarePod {
  readonly sandbox: PodSandboxConfig;
  readonly container: ContainerConfig;
  id?: string;
}

/** The parent's control group is not the kubelet's, so that its housekeeping does not meet these pods. */
export function describeBarePod(layout: Layout): BarePod {
  const name = `bare-${++made}`;
  const pod = {
    metadata: { name, uid: name, namespace: 'bench' },
    spec: { containers: [MAIN] },
  } as unknown as Pod;
  const sandbox = sandboxConfig(pod, {
    attempt: 0,
    podLogsDir: path.join(layout.logDir, 'bare'),
    cgroupParent: `${layout.cgroup}/bare/${name}`,
    clusterDomain: 'cluster.local',
    dns: { servers: ['10.96.0.10'], searches: ['cluster.local'], options: ['ndots:5'] },
  });
  const container = containerConfig({
    ...{ pod, container: MAIN, restartCount: 0, imageRef: BUSYBOX_IMAGE, image: undefined },
    ...{ envs: [], mounts: [], seccompRoot: '' },
    machine: { memoryCapacity: 1, cpuCFSQuota: true },
  });
  return {
    sandbox: { ...sandbox, ...UNMARKED },
    container: { ...container, ...UNMARKED, logPath: 'main.log' },
  };
}

export async function startBarePod({ runtime }: ContainerRuntime, pod: BarePod): Promise<void> {
  pod.id = await runtime.runPodSandbox(pod.sandbox);
  await runtime.startContainer(await runtime.createContainer(pod.id, pod.container, pod.sandbox));
}

export async function removeBarePod({ runtime }: ContainerRuntime, { id }: BarePod): Promise<void> {
  if (id === undefined) return;
  await runtime.stopPodSandbox(id);
  await runtime.removePodSandbox(id);
}
