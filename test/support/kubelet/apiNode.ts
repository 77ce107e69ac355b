// A node for tests that look at pods from both sides: an apiserver, a containerd of its own, and a kubelet between them.
// Guarantees: the kubelet runs in the process of the test; stop() leaves nothing.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Log, silentLog } from '../../../src/api/log.js';
import type { Client } from '../../../src/client/client.js';
import { makeEventRecorder } from '../../../src/client/eventRecorder.js';
import type { Informers } from '../../../src/client/informer.js';
import { openInformers } from '../../../src/client/sharedInformers.js';
import { openClient } from '../../../src/client/typedClient.js';
import { openRuntime } from '../../../src/cri/client.js';
import type { ContainerRuntime } from '../../../src/cri/runtime.js';
import { openCgroups } from '../../../src/kernel/cgroup/adapter.js';
import { openPleg } from '../../../src/kernel/pleg/adapter.js';
import type { KubeletOptions } from '../../../src/kubelet/config.js';
import type { RunningKubelet } from '../../../src/kubelet/dependencies.js';
import { eventsThrough } from '../../../src/kubelet/events.js';
import { runKubelet } from '../../../src/kubelet/kubelet.js';
import { makePodParts } from '../../../src/kubelet/podParts.js';
import type { LogindPlace } from '../../../src/kubelet/shutdown/logind.js';
import { CriNode } from '../criNode.js';
import { startTestApiServer, type TestApiServer } from '../testApiServer.js';
import { CriProxy } from './criProxy.js';
import { makeNamespaces, NODE, NodePods } from './nodePods.js';

export { NODE, SLEEP, shell } from './nodePods.js';

export class ApiNode extends NodePods {
  readonly #cri: ContainerRuntime;
  readonly #api: TestApiServer;
  readonly #informers: Informers;

  kubelet!: RunningKubelet;
  readonly #complaints: string[] = [];

  private constructor(
    node: CriNode,
    readonly proxy: CriProxy,
    cri: ContainerRuntime,
    api: TestApiServer,
    client: Client,
    informers: Informers,
  ) {
    super(node, client);
    this.#cri = cri;
    this.#api = api;
    this.#informers = informers;
  }

  static async start(config: Partial<KubeletOptions> = {}): Promise<ApiNode> {
    const node = await CriNode.start();
    const at = (name: string) => path.join(node.node.directory, name);
    const proxy = await CriProxy.open(at('containerd.sock'), at('proxy.sock'));
    const api = await startTestApiServer();
    const client = openClient(api.transport);
    await makeNamespaces(client);
    const informers = openInformers(client);
    const made = new ApiNode(node, proxy, openRuntime(proxy.endpoint), api, client, informers);
    mkdirSync(at('manifests'));
    await made.#startKubelet(config);
    return made;
  }

  async stop(): Promise<void> {
    this.proxy.release();
    await this.kubelet?.stop();
    this.#informers.stop();
    this.#cri.close();
    this.proxy.close();
    await this.#api.close();
    await this.node.stop();
  }

  /** Where the kubelet looks for logind; a test may start one there. */
  get logind(): LogindPlace {
    const at = (name: string) => path.join(this.node.node.directory, name);
    return { bus: `unix:path=${at('bus.sock')}`, configDir: at('logind.conf.d') };
  }

  get manifests(): string {
    return path.join(this.node.node.directory, 'manifests');
  }

  async #startKubelet(config: Partial<KubeletOptions>): Promise<void> {
    const { directory, cgroupParent } = this.node.node;
    const note = (message: string, fields?: object) => {
      this.#complaints.push(`${message} ${JSON.stringify(fields)}`);
    };
    const log: Log = { ...silentLog, error: note, warn: note };
    const { client } = this;
    const informers = this.#informers;
    const cri = this.#cri;
    this.kubelet = await runKubelet({
      config: {
        nodeName: NODE,
        nodeIps: ['127.0.0.1'],
        staticPodPath: this.manifests,
        clusterDNS: ['10.96.0.10'],
        clusterDomain: 'cluster.local',
        cgroupRoot: cgroupParent,
        rootDir: path.join(directory, 'kubelet'),
        podLogsDir: path.join(directory, 'logs'),
        plegRelistPeriodMs: 200,
        housekeepingPeriodMs: 200,
        // The machine that runs the tests may be short of disk; only what a test asks for is evicted.
        evictionHard: {},
        ...config,
      },
      client,
      informers,
      log,
      runtime: cri,
      // Never the machine's own.
      logind: this.logind,
      pleg: openPleg(),
      cgroups: await openCgroups(),
      events: eventsThrough(makeEventRecorder(client, { component: 'kubelet', host: NODE })),
      parts: makePodParts({ client, informers, runtime: cri.runtime, log }),
    });
  }

  said = (): string => this.#complaints.slice(-20).join('\n');
}
