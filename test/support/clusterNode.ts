// A machine of its own with containerd as a cluster configures it, and our registry beside it.
// Guarantees: what runs inside is the build in dist/; stop() leaves nothing.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { PAUSE_IMAGE } from '../../src/cluster/images/builtin.js';
import { openRuntime } from '../../src/cri/client.js';
import type { ContainerRuntime, PodSandboxConfig } from '../../src/cri/runtime.js';
import { podNetwork, sandboxConfig, untilReady } from './criNode.js';
import { IsolatedNode } from './isolatedNode.js';
import { makeNetNs, type TestNetNs } from './netns.js';
import { makeCertificate } from './testCertificate.js';

const REGISTRY_PORT = 5443;
const built = (file: string) => JSON.stringify(pathToFileURL(path.resolve('dist/src/cluster', file)).href);

// As a cluster starts: all in the node, where containerd finds the registry on 127.0.0.1.
const START_SCRIPT = `
  import { startContainerd } from ${built('containerd/daemon.js')};
  import { askMachine } from ${built('containerd/machine.js')};
  import { busyboxImage, pauseImage } from ${built('images/builtin.js')};
  import { openRegistry } from ${built('registry/server.js')};
  const { registry, daemon, snapshotter } = JSON.parse(process.argv[1]);
  await openRegistry({ ...registry, images: [await pauseImage(), await busyboxImage()] });
  const machine = await askMachine(daemon.containerd.root);
  await startContainerd({ ...daemon, containerd: { ...machine, ...snapshotter, ...daemon.containerd } });
  console.log('ready');
`;
const REMAINS_SCRIPT = `
  import { killRemains } from ${built('containerd/remains.js')};
  console.log(JSON.stringify(await killRemains(JSON.parse(process.argv[1]))));
`;

export class ClusterNode {
  private constructor(
    readonly host: TestNetNs,
    readonly node: IsolatedNode,
    readonly cri: ContainerRuntime,
    private readonly starter: { output(): string },
  ) {}

  static async start(options: { readonly snapshotter?: 'overlayfs' | 'native' } = {}): Promise<ClusterNode> {
    const host = await makeNetNs();
    await host.run('ip', 'link', 'set', 'lo', 'up');
    const node = await IsolatedNode.start(host);
    const paths = pathsOf(node);
    mkdirSync(paths.net);
    writeFileSync(path.join(paths.net, '10-pods.conflist'), JSON.stringify(podNetwork(node.directory)));
    const tls = await makeCertificate();
    writeFileSync(paths.ca, tls.cert);
    const settings = {
      snapshotter: options,
      registry: { tls, host: '127.0.0.1', port: REGISTRY_PORT },
      daemon: {
        configPath: paths.config,
        logPath: paths.log,
        registries: { 'trellis.local': { port: REGISTRY_PORT, caFile: paths.ca } },
        containerd: {
          root: paths.root,
          state: paths.state,
          socketPath: paths.socket,
          sandboxImage: PAUSE_IMAGE,
          cniBinDir: path.resolve('dist/cni'),
          cniConfDir: paths.net,
          registryConfigDir: paths.registries,
        },
      },
    };
    const starter = node.startDaemon(...moduleOf(START_SCRIPT, settings));
    const made = new ClusterNode(host, node, openRuntime(`unix://${paths.socket}`), starter);
    for (let tries = 0; tries < 300 && !starter.output().includes('ready'); tries++) await sleep(50);
    await untilReady(made.cri);
    return made;
  }

  get paths(): ReturnType<typeof pathsOf> {
    return pathsOf(this.node);
  }

  pod = (name: string): PodSandboxConfig => sandboxConfig(this.node, name);

  /** Runs killRemains inside, where the node's processes and mounts are. */
  async killRemains(): Promise<{
    readonly killed: readonly number[];
    readonly unmounted: readonly string[];
  }> {
    const { root, state, socket: socketPath, config: configPath } = this.paths;
    const options = { root, state, socketPath, configPath };
    return JSON.parse(await this.node.run(...moduleOf(REMAINS_SCRIPT, options)));
  }

  output(): string {
    const log = existsSync(this.paths.log) ? readFileSync(this.paths.log, 'utf8') : '';
    return `${this.starter.output()}\n${log}`;
  }

  async stop(): Promise<void> {
    this.cri.close();
    await this.node.stop();
    await this.host.remove();
  }
}

const moduleOf = (script: string, options: object): [string, ...string[]] => [
  process.execPath,
  '--input-type=module',
  '-e',
  script,
  JSON.stringify(options),
];

const pathsOf = ({ directory }: IsolatedNode) => ({
  root: path.join(directory, 'root'),
  state: '/run/trellis/containerd',
  socket: path.join(directory, 'containerd.sock'),
  config: path.join(directory, 'config.toml'),
  log: path.join(directory, 'containerd.log'),
  net: path.join(directory, 'net.d'),
  registries: path.join(directory, 'certs.d'),
  ca: path.join(directory, 'ca.crt'),
});
