// The bare calls under a pod: RunPodSandbox, CreateContainer, StartContainer, asked of the same containerd.
// Guarantees: the same image, network and control groups as the kubelet's pods have; what was made is removed.
import path from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/cluster/images/builtin.js';
import type { Layout } from '../../src/cluster/layout.js';
import type { ContainerConfig, ContainerRuntime, PodSandboxConfig } from '../../src/cri/runtime.js';

const NAMESPACES = { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } as const;
let made = 0;

export interface BarePod {
  readonly sandbox: PodSandboxConfig;
  id?: string;
}

/** The parent's control group is not the kubelet's, so that its housekeeping does not meet these pods. */
export function describeBarePod(layout: Layout): BarePod {
  const name = `bare-${++made}`;
  return {
    sandbox: {
      metadata: { name, uid: name, namespace: 'bench', attempt: 0 },
      hostname: name,
      logDirectory: path.join(layout.logDir, 'bare', name),
      labels: {},
      annotations: {},
      linux: {
        cgroupParent: `${layout.cgroup}/bare/${name}`,
        securityContext: { namespaceOptions: NAMESPACES },
        sysctls: {},
      },
    },
  };
}

export async function startBarePod({ runtime }: ContainerRuntime, pod: BarePod): Promise<void> {
  pod.id = await runtime.runPodSandbox(pod.sandbox);
  await runtime.startContainer(await runtime.createContainer(pod.id, container, pod.sandbox));
}

export async function removeBarePod({ runtime }: ContainerRuntime, { id }: BarePod): Promise<void> {
  if (id === undefined) return;
  await runtime.stopPodSandbox(id);
  await runtime.removePodSandbox(id);
}

const container: ContainerConfig = {
  metadata: { name: 'main', attempt: 0 },
  image: { image: BUSYBOX_IMAGE },
  command: ['sleep', '100000'],
  args: [],
  workingDir: '',
  envs: [],
  mounts: [],
  labels: {},
  annotations: {},
  logPath: 'main.log',
  stdin: false,
  stdinOnce: false,
  tty: false,
  linux: {
    resources: {},
    securityContext: {
      privileged: false,
      namespaceOptions: NAMESPACES,
      readonlyRootfs: false,
      noNewPrivs: false,
      maskedPaths: [],
      readonlyPaths: [],
    },
  },
};
