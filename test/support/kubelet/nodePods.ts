// The pods of a test's node, asked for through the API and looked at from inside: create, await, ask, remove.
// Guarantees: pods are awaited by condition, with what the kubelet complained of in the message.
import { setTimeout as sleep } from 'node:timers/promises';
import type { CoreV1Event, V1Container, V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { EVENTS, NAMESPACES, NODES, PODS } from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import type { Client } from '../../../src/client/client.js';
import type { CriNode } from '../criNode.js';
import { IMAGE } from '../imageArchive.js';

export const NODE = 'node-1';
const PATIENCE_MS = 50_000;

export abstract class NodePods {
  constructor(
    readonly node: CriNode,
    readonly client: Client,
  ) {}

  /** What the kubelet said last, for whoever looks into a failure. */
  abstract said(): string;

  create(name: string, spec: Partial<V1PodSpec>, metadata: object = {}): Promise<Stored<V1Pod>> {
    return this.client.of(PODS).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, name, namespace: 'default' },
      spec: {
        nodeName: NODE,
        terminationGracePeriodSeconds: 1,
        automountServiceAccountToken: false,
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
    throw new Error(`${name} never was ${what}: ${status}\n${this.said()}`);
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
        if (Date.now() > deadline) throw new Error(`${name} is still there: ${this.said()}`);
  }

  /** Without grace, and without waiting for its end. */
  async drop(...names: readonly string[]): Promise<void> {
    for (const name of names)
      await this.client.of(PODS).delete({ namespace: 'default', name }, { gracePeriodSeconds: 0 });
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
      `no such event: ${said.map(({ reason, message }) => `${reason}: ${message}`).join('\n')}\n${this.said()}`,
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
}

/** The namespaces that a kubelet and its pods need. */
export async function makeNamespaces(client: Client): Promise<void> {
  for (const name of ['default', 'kube-node-lease'])
    await client
      .of(NAMESPACES)
      .create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      .catch((error: unknown) => {
        if (!ApiError.is(error, 'AlreadyExists')) throw error;
      });
}

export const shell = (script: string, more: Partial<V1Container> = {}): V1Container => ({
  name: 'main',
  image: IMAGE,
  imagePullPolicy: 'IfNotPresent',
  command: ['/bin/sh', '-c', script],
  ...more,
});

export const SLEEP = 'exec sleep 10000';
