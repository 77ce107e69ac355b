// A node whose kubelet lives in the node's own mount, process and network namespaces, as on a machine.
// Guarantees: containers see what the kubelet mounts, it reaches their addresses; stop() leaves nothing.
import path from 'node:path';
import type { V1Container, V1PodSpec } from '../../../src/api/gen/types.js';
import type { Client } from '../../../src/client/client.js';
import { openClient } from '../../../src/client/typedClient.js';
import { CriNode } from '../criNode.js';
import { startTestApiServer, type TestApiServer, type TestApiServerOptions } from '../testApiServer.js';
import { eventually } from '../testCluster.js';
import { CriProxy } from './criProxy.js';
import { KUBELET_MAIN, KubeletProcess } from './kubeletProcess.js';
import { makeNamespaces, NodePods, shell } from './nodePods.js';

export const NEEDS = {
  root: true,
  tools: ['containerd', 'runc', 'ctr'],
  files: ['/bin/busybox', KUBELET_MAIN],
};

export class PodNode extends NodePods {
  readonly #api: TestApiServer;
  readonly #kubelet: KubeletProcess;

  private constructor(
    node: CriNode,
    client: Client,
    api: TestApiServer,
    kubelet: KubeletProcess,
    /** Between the kubelet and its runtime. */
    readonly proxy: CriProxy,
  ) {
    super(node, client);
    this.#api = api;
    this.#kubelet = kubelet;
  }

  /** `config` is more of the kubelet's configuration file; `prepare` comes before the kubelet. */
  static async start(
    config: object = {},
    {
      prepare,
      server,
    }: {
      readonly prepare?: (node: CriNode) => Promise<void>;
      readonly server?: TestApiServerOptions;
    } = {},
  ): Promise<PodNode> {
    const node = await CriNode.start();
    await prepare?.(node);
    const api = await startTestApiServer(server);
    const client = openClient(api.transport);
    await makeNamespaces(client);
    const at = (name: string) => path.join(node.node.directory, name);
    const proxy = await CriProxy.open(at('containerd.sock'), at('proxy.sock'));
    const kubelet = await KubeletProcess.make(node, api, {
      containerRuntimeEndpoint: proxy.endpoint,
      clusterDNS: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      evictionHard: {},
      syncFrequency: '2s',
      ...config,
    });
    const made = new PodNode(node, client, api, kubelet, proxy);
    await kubelet.startWithin(node);
    await eventually(
      () => made.readiness(),
      (is) => is === 'True',
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${made.said()}`);
    });
    return made;
  }

  said = (): string => this.#kubelet.output();

  /** A path in the directory that the node and the test share. */
  at = (name: string): string => path.join(this.node.node.directory, name);

  /** Runs a script as a pod to its end, and answers the lines that it leaves as its last words. */
  async told(
    name: string,
    script: string,
    more: Partial<V1Container> = {},
    spec: Partial<V1PodSpec> = {},
  ): Promise<readonly string[]> {
    const containers = [shell(`( ${script} ) > /dev/termination-log 2>&1`, more)];
    await this.create(name, { restartPolicy: 'Never', containers, ...spec });
    const { status } = await this.ended(name);
    await this.drop(name);
    return (status.containerStatuses?.[0]?.state?.terminated?.message ?? '').trimEnd().split('\n');
  }

  async stop(): Promise<void> {
    await this.#kubelet.stop();
    this.proxy.close();
    await this.node.stop();
    await this.#api.close();
  }
}
