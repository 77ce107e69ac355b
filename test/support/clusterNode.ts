// A machine of its own with containerd as a cluster configures it, and our registry beside it.
// Guarantees: what runs inside is the build in dist/; stop() leaves nothing.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { containerdConfig, registryHosts } from '../../src/cluster/containerd/config.js';
import { askMachine } from '../../src/cluster/containerd/machine.js';
import { PAUSE_IMAGE } from '../../src/cluster/images/builtin.js';
import { openRuntime } from '../../src/cri/client.js';
import type { ContainerRuntime, PodSandboxConfig } from '../../src/cri/runtime.js';
import { podNetwork, sandboxConfig, untilReady } from './criNode.js';
import { IsolatedNode } from './isolatedNode.js';
import { makeNetNs, type TestNetNs } from './netns.js';
import { makeTestPki } from './testPki.js';

const REGISTRY_PORT = 5443;
const built = (file: string) => JSON.stringify(pathToFileURL(path.resolve('dist/src/cluster', file)).href);

// In the node's network, where containerd looks for it on 127.0.0.1.
const REGISTRY_SCRIPT = `
  import { busyboxImage, pauseImage } from ${built('images/builtin.js')};
  import { openRegistry } from ${built('registry/server.js')};
  const options = JSON.parse(process.argv[1]);
  await openRegistry({ ...options, images: [await pauseImage(), await busyboxImage()] });
  console.log('listening');
`;
const REMAINS_SCRIPT = `
  import { killRemains } from ${built('containerd/remains.js')};
  console.log(JSON.stringify(await killRemains(JSON.parse(process.argv[1]))));
`;

export class ClusterNode {
  readonly #daemons: readonly { output(): string }[];

  private constructor(
    readonly host: TestNetNs,
    readonly node: IsolatedNode,
    readonly cri: ContainerRuntime,
    daemons: readonly { output(): string }[],
  ) {
    this.#daemons = daemons;
  }

  static async start(options: { readonly snapshotter?: 'overlayfs' | 'native' } = {}): Promise<ClusterNode> {
    const host = await makeNetNs();
    await host.run('ip', 'link', 'set', 'lo', 'up');
    const node = await IsolatedNode.start(host);
    const paths = pathsOf(node);
    for (const directory of [paths.net, path.join(paths.registries, 'trellis.local')])
      mkdirSync(directory, { recursive: true });
    writeFileSync(path.join(paths.net, '10-pods.conflist'), JSON.stringify(podNetwork(node.directory)));
    const pki = await makeTestPki();
    writeFileSync(paths.ca, pki.ca);
    writeFileSync(
      path.join(paths.registries, 'trellis.local', 'hosts.toml'),
      registryHosts({ port: REGISTRY_PORT, caFile: paths.ca }),
    );
    writeFileSync(
      paths.config,
      containerdConfig({
        root: paths.root,
        state: paths.state,
        socketPath: paths.socket,
        sandboxImage: PAUSE_IMAGE,
        cniBinDir: path.resolve('dist/cni'),
        cniConfDir: paths.net,
        registryConfigDir: paths.registries,
        ...(await askMachine(paths.root)),
        ...options,
      }),
    );
    const registry = {
      tls: await pki.server(),
      host: '127.0.0.1',
      port: REGISTRY_PORT,
    };
    const daemons = [
      startModule(node, REGISTRY_SCRIPT, registry),
      node.startDaemon('containerd', '--config', paths.config),
    ];
    const made = new ClusterNode(host, node, openRuntime(`unix://${paths.socket}`), daemons);
    try {
      await untilReady(made.cri);
    } catch (error) {
      const said = made.output();
      await made.stop(); // nobody else has it
      throw new Error(`the node did not start: ${said}`, { cause: error });
    }
    for (let tries = 0; tries < 200 && !made.output().includes('listening'); tries++) await sleep(50);
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
    const options = JSON.stringify({ root, state, socketPath, configPath });
    return JSON.parse(
      await this.node.run(process.execPath, '--input-type=module', '-e', REMAINS_SCRIPT, options),
    );
  }

  output = (): string => this.#daemons.map((daemon) => daemon.output()).join('\n');

  async stop(): Promise<void> {
    this.cri.close();
    await this.node.stop();
    await this.host.remove();
  }
}

const startModule = (node: IsolatedNode, script: string, options: object) =>
  node.startDaemon(process.execPath, '--input-type=module', '-e', script, JSON.stringify(options));

const pathsOf = ({ directory }: IsolatedNode) => ({
  root: path.join(directory, 'root'),
  state: '/run/trellis/containerd',
  socket: path.join(directory, 'containerd.sock'),
  config: path.join(directory, 'config.toml'),
  net: path.join(directory, 'net.d'),
  registries: path.join(directory, 'certs.d'),
  ca: path.join(directory, 'ca.crt'),
});
