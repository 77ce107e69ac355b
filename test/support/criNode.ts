// A private containerd on a machine of its own, with our CNI plugins and one image made here.
// Guarantees: ready when start() answers; stop() leaves nothing; its output is there for whoever looks into a failure.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { containerdConfig } from '../../src/cluster/containerd/config.js';
import { ociArchitecture } from '../../src/cluster/images/image.js';
import { openRuntime } from '../../src/cri/client.js';
import type { ContainerConfig, ContainerRuntime, PodSandboxConfig } from '../../src/cri/runtime.js';
import { IMAGE, makeImageArchive } from './imageArchive.js';
import { IsolatedNode } from './isolatedNode.js';
import type { TestNetNs } from './netns.js';

const PLUGINS = path.resolve('dist/cni');
/** CRI's own conditions: a runtime may have more, such as containerd's that nothing deprecated is in use. */
const REQUIRED = ['RuntimeReady', 'NetworkReady'];
const NAMESPACES = { network: 'POD', pid: 'CONTAINER', ipc: 'POD' } as const;

const configuration = (directory: string): string =>
  containerdConfig({
    root: `${directory}/root`,
    state: '/run/containerd',
    socketPath: `${directory}/containerd.sock`,
    sandboxImage: IMAGE,
    cniBinDir: PLUGINS,
    cniConfDir: `${directory}/net.d`,
    registryConfigDir: `${directory}/certs.d`,
    snapshotter: 'native',
    architecture: ociArchitecture(process.arch),
    restrictOomScoreAdj: true,
    disableApparmor: true,
    disableHugetlb: false,
  });

export const podNetwork = (directory: string) => ({
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: {
        type: 'host-local',
        dataDir: `${directory}/addresses`,
        ranges: [[{ subnet: '10.77.0.0/24' }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
});

/** Answers once the runtime says that it and its network are ready. */
export async function untilReady({ runtime }: ContainerRuntime): Promise<void> {
  for (let tries = 0; tries < 150; tries++) {
    const { conditions } = await runtime.status().catch(() => ({ conditions: [] }));
    if (REQUIRED.every((one) => conditions.some(({ type, status }) => type === one && status))) return;
    await sleep(100);
  }
  throw new Error('containerd did not become ready');
}

export class CriNode {
  #daemon: { output(): string };

  private constructor(
    readonly host: TestNetNs,
    readonly node: IsolatedNode,
    daemon: { output(): string },
    readonly cri: ContainerRuntime,
  ) {
    this.#daemon = daemon;
  }

  /** `edit` changes containerd's configuration. */
  static async start({ edit = (text: string) => text } = {}): Promise<CriNode> {
    const { host, node } = await IsolatedNode.startWith(podNetwork);
    const { directory } = node;
    writeFileSync(path.join(directory, 'config.toml'), edit(configuration(directory)));
    const socket = path.join(directory, 'containerd.sock');
    const cri = openRuntime(`unix://${socket}`);
    const made = new CriNode(host, node, startContainerd(node), cri);
    try {
      await untilReady(cri);
      await made.ctr('images', 'import', makeImageArchive(directory));
    } catch (error) {
      const said = made.output();
      await made.stop(); // nobody else has it
      throw new Error(`the node did not start: ${said}`, { cause: error });
    }
    return made;
  }

  /** containerd's own tool, for what CRI does not offer. */
  ctr(...args: string[]): Promise<string> {
    const socket = path.join(this.node.directory, 'containerd.sock');
    return this.node.run('ctr', '-a', socket, '-n', 'k8s.io', ...args);
  }

  /** Ends containerd as a crash would, and starts it again. */
  async restart(): Promise<void> {
    const pid = readFileSync(path.join(this.node.directory, 'containerd.pid'), 'utf8').trim();
    await this.node.run('kill', '-9', pid);
    this.#daemon = startContainerd(this.node);
    await untilReady(this.cri);
  }

  output = (): string => this.#daemon.output();

  async stop(): Promise<void> {
    this.cri.close();
    await this.node.stop();
    await this.host.remove();
  }

  pod = (name: string): PodSandboxConfig => sandboxConfig(this.node, name);
}

/** Of a pod in the namespace default, its logs in the node's directory and its control group below the node's. */
export const sandboxConfig = (node: IsolatedNode, name: string): PodSandboxConfig => ({
  metadata: { name, uid: `${name}-uid`, namespace: 'default', attempt: 0 },
  hostname: name,
  logDirectory: path.join(node.directory, 'logs', name),
  labels: { app: name, 'io.kubernetes.pod.uid': `${name}-uid` },
  annotations: {},
  linux: {
    cgroupParent: `${node.cgroupParent}/${name}`,
    securityContext: { namespaceOptions: NAMESPACES },
    sysctls: {},
  },
});

export function containerOf(name: string, command: readonly string[], image = IMAGE): ContainerConfig {
  return {
    metadata: { name, attempt: 0 },
    image: { image },
    command,
    args: [],
    workingDir: '',
    envs: [{ key: 'GREETING', value: 'hello' }],
    mounts: [],
    labels: { 'io.kubernetes.container.name': name },
    annotations: {},
    logPath: `${name}.log`,
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
}

function startContainerd(node: IsolatedNode): { output(): string } {
  const { directory } = node;
  // The shell's own number, as the node's processes see it, becomes containerd's.
  const script = `echo $$ > ${directory}/containerd.pid; exec containerd --config ${directory}/config.toml`;
  return node.startDaemon('sh', '-c', script);
}
