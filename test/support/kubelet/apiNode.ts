// A node for tests that look at pods from both sides: an apiserver, a containerd of its own, and a kubelet between them.
// Guarantees: pods are awaited by condition, with what the kubelet complained of in the message; stop() leaves nothing.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CoreV1Event, V1Container, V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import { type Log, silentLog } from '../../../src/api/log.js';
import type { Stored } from '../../../src/api/object.js';
import { EVENTS, NAMESPACES, NODES, PODS } from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
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
import { eventsThrough } from '../../../src/kubelet/events.js';
import { type RunningKubelet, runKubelet } from '../../../src/kubelet/kubelet.js';
import { makeParts } from '../../../src/kubelet/parts.js';
import type { LogindPlace } from '../../../src/kubelet/shutdown/logind.js';
import { CriNode } from '../criNode.js';
import { IMAGE } from '../imageArchive.js';
import { startTestApiServer, type TestApiServer } from '../testApiServer.js';
import { CriProxy } from './criProxy.js';

export const NODE = 'node-1';
const PATIENCE_MS = 50_000;

export class ApiNode {
  kubelet!: RunningKubelet;
  private readonly complaints: string[] = [];

  private constructor(
    readonly node: CriNode,
    readonly proxy: CriProxy,
    private readonly cri: ContainerRuntime,
    private readonly api: TestApiServer,
    readonly client: Client,
    private readonly informers: Informers,
  ) {}

  static async start(config: Partial<KubeletOptions> = {}): Promise<ApiNode> {
    const node = await CriNode.start();
    const at = (name: string) => path.join(node.node.directory, name);
    const proxy = await CriProxy.open(at('containerd.sock'), at('proxy.sock'));
    const api = await startTestApiServer();
    const client = openClient(api.transport);
    for (const name of ['default', 'kube-node-lease'])
      await client
        .of(NAMESPACES)
        .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
        .catch((error: unknown) => {
          if (!ApiError.is(error, 'AlreadyExists')) throw error;
        });
    const informers = openInformers(client);
    const made = new ApiNode(node, proxy, openRuntime(proxy.endpoint), api, client, informers);
    mkdirSync(at('manifests'));
    await made.startKubelet(config);
    return made;
  }

  async stop(): Promise<void> {
    this.proxy.release();
    await this.kubelet?.stop();
    this.informers.stop();
    this.cri.close();
    this.proxy.close();
    await this.api.close();
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

  private async startKubelet(config: Partial<KubeletOptions>): Promise<void> {
    const { directory, cgroupParent } = this.node.node;
    const note = (message: string, fields?: object) => {
      this.complaints.push(`${message} ${JSON.stringify(fields)}`);
    };
    const log: Log = { ...silentLog, error: note, warn: note };
    const { client, informers, cri } = this;
    this.kubelet = await runKubelet({
      config: {
        ...{ nodeName: NODE, nodeIps: ['127.0.0.1'], staticPodPath: this.manifests },
        ...{ clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local', cgroupRoot: cgroupParent },
        ...{ rootDir: path.join(directory, 'kubelet'), podLogsDir: path.join(directory, 'logs') },
        ...{ plegRelistPeriodMs: 200, housekeepingPeriodMs: 200 },
        // The machine that runs the tests may be short of disk; only what a test asks for is evicted.
        evictionHard: {},
        ...config,
      },
      ...{ client, informers, log, runtime: cri },
      // Never the machine's own.
      logind: this.logind,
      pleg: openPleg(),
      cgroups: await openCgroups(),
      events: eventsThrough(makeEventRecorder(client, { component: 'kubelet', host: NODE })),
      parts: makeParts({ client, informers, runtime: cri.runtime, log }),
    });
  }

  create(name: string, spec: Partial<V1PodSpec>, metadata: object = {}): Promise<Stored<V1Pod>> {
    return this.client.of(PODS).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name, namespace: 'default' },
      spec: {
        ...{ nodeName: NODE, terminationGracePeriodSeconds: 1, automountServiceAccountToken: false },
        ...spec,
      } as V1PodSpec,
    });
  }

  async get(name: string): Promise<Stored<V1Pod> | undefined> {
    try {
      return await this.client.of(PODS).get({ namespace: 'default', name });
    } catch (error) {
      if (ApiError.is(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  async until(what: string, name: string, holds: (pod: Stored<V1Pod>) => boolean): Promise<Stored<V1Pod>> {
    let pod: Stored<V1Pod> | undefined;
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(50)) {
      pod = await this.get(name);
      if (pod !== undefined && holds(pod)) return pod;
    }
    const status = JSON.stringify(pod?.status, undefined, 1);
    throw new Error(`${name} never was ${what}: ${status}\n${this.complaints.slice(-20).join('\n')}`);
  }

  running = (name: string) => this.until('Running', name, ({ status }) => status.phase === 'Running');
  ended = (name: string) =>
    this.until('ended', name, ({ status }) => status.phase === 'Succeeded' || status.phase === 'Failed');

  /** The waiting state of the first container, once its reason is one of these. */
  async waiting(name: string, reasons: RegExp) {
    const state = ({ status }: Stored<V1Pod>) => status.containerStatuses?.[0]?.state?.waiting;
    const pod = await this.until('waiting', name, (one) => reasons.test(state(one)?.reason ?? ''));
    return { reason: state(pod)?.reason ?? '', message: state(pod)?.message ?? '' };
  }

  async remove(...names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.client.of(PODS).delete({ namespace: 'default', name })));
    for (const name of names)
      for (const deadline = Date.now() + PATIENCE_MS; (await this.get(name)) !== undefined; await sleep(50))
        if (Date.now() > deadline)
          throw new Error(`${name} is still there: ${this.complaints.slice(-20).join('\n')}`);
  }

  /** What the kubelet said of a pod, once one of it is as wanted. */
  async event(pod: string, isWanted: (event: CoreV1Event) => boolean): Promise<CoreV1Event> {
    const said: CoreV1Event[] = [];
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(50)) {
      const { items } = await this.client.of(EVENTS).list({ namespace: 'default' });
      said.splice(0, said.length, ...items.filter(({ involvedObject }) => involvedObject.name === pod));
      const found = said.find(isWanted);
      if (found !== undefined) return found;
    }
    throw new Error(
      `no such event: ${said.map(({ reason, message }) => `${reason}: ${message}`).join('\n')}\n${this.complaints.join('\n')}`,
    );
  }

  /** Runs a program in a pod's container; answers what it wrote. */
  async inside(pod: string, script: string, container = 'main'): Promise<string> {
    const status = (await this.get(pod))?.status;
    const all = [...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])];
    const id = all.find(({ name }) => name === container)?.containerID?.split('://')[1] ?? '';
    const { stdout, stderr, exitCode } = await this.node.cri.runtime.execSync(
      id,
      ['/bin/sh', '-c', script],
      20,
    );
    if (exitCode !== 0) throw new Error(`${script}: ${exitCode}: ${stdout}${stderr}`);
    return String(stdout).trimEnd();
  }

  async readiness(): Promise<string | undefined> {
    const { status } = await this.client.of(NODES).get({ name: NODE });
    return status.conditions?.find(({ type }) => type === 'Ready')?.status;
  }

  said = (): string => this.complaints.join('\n');
}

export const shell = (script: string, more: Partial<V1Container> = {}): V1Container => ({
  ...{ name: 'main', image: IMAGE, imagePullPolicy: 'IfNotPresent', command: ['/bin/sh', '-c', script] },
  ...more,
});

export const SLEEP = 'exec sleep 10000';
