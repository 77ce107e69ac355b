// The bare calls under a pod: RunPodSandbox, CreateContainer, StartContainer, asked of the same containerd.
// Guarantees: what is asked for is what the kubelet asks for, mounts of files included; what was made is removed.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/cluster/images/builtin.js';
import type { Layout } from '../../src/cluster/layout.js';
import type { ContainerConfig, ContainerRuntime, Mount, PodSandboxConfig } from '../../src/cri/runtime.js';
import { containerConfig } from '../../src/kubelet/container/containerConfig.js';
import { sandboxConfig } from '../../src/kubelet/container/sandboxConfig.js';
import type { Pod } from '../../src/kubelet/ports.js';

/** Without the labels and annotations of a kubelet's pod, so that the node's own does not take it for one of its own. */
const UNMARKED = { labels: {}, annotations: {} };
const MAIN = { name: 'main', image: BUSYBOX_IMAGE, command: ['sleep', '100000'] };
let made = 0;

interface BarePod {
  readonly sandbox: PodSandboxConfig;
  readonly container: ContainerConfig;
  id?: string;
}

/** The files that every container of a pod has, written beforehand: making them is the kubelet's work, mounting them the runtime's. */
function mountsFor(layout: Layout, name: string): Mount[] {
  const dir = path.join(layout.dataDir, 'bare', name);
  const account = path.join(dir, 'account');
  mkdirSync(account, { recursive: true });
  const file = (containerPath: string): Mount => {
    const hostPath = path.join(dir, path.basename(containerPath));
    writeFileSync(hostPath, '');
    return { containerPath, hostPath, readonly: false, selinuxRelabel: true };
  };
  const token = '/var/run/secrets/kubernetes.io/serviceaccount';
  return [
    { containerPath: token, hostPath: account, readonly: true, selinuxRelabel: true },
    file('/etc/hosts'),
    file('/dev/termination-log'),
  ];
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
    machine: { cpuCFSQuota: true },
  });
  const container = containerConfig({
    pod,
    container: MAIN,
    restartCount: 0,
    imageRef: BUSYBOX_IMAGE,
    image: undefined,
    envs: [],
    mounts: mountsFor(layout, name),
    seccompRoot: '',
    machine: { memoryCapacity: 1, cpuCFSQuota: true, hugePageSizes: [] },
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
