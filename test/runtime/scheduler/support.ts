// A scheduler at work on a real apiserver, and what tests ask of the two.
import type { V1Node, V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { EVENTS, NODES, PODS, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';
import type { SchedulerOptions } from '../../../src/scheduler/scheduler.js';
import { startScheduler } from '../../support/runningComponents.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';

export class Playground {
  private constructor(readonly api: SecuredApiServer) {}

  static async open(): Promise<Playground> {
    const api = await startSecuredApiServer();
    await api.client.of(SERVICE_ACCOUNTS).create({ metadata: { name: 'default', namespace: 'default' } });
    return new Playground(api);
  }

  /** A scheduler with a client and copies of its own, as a new process would have. Returns what stops it. */
  schedule(
    options: Partial<SchedulerOptions> = {},
    through: (client: Client) => Client = (client) => client,
  ): () => Promise<void> {
    const client = this.api.as({ name: 'system:kube-scheduler', groups: ['system:authenticated'] });
    return startScheduler(client, { client: through(client), ...options });
  }

  async node(name: string, { labels = {}, allocatable = {}, spec = {} }: NodeShape = {}): Promise<void> {
    const nodes = this.api.client.of(NODES);
    const status = { allocatable: { cpu: '2', memory: '4Gi', pods: '10', ...allocatable } };
    await nodes.create({ metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } }, status });
    await nodes.patch({ name }, 'merge', { spec: { taints: null, ...spec } });
  }

  async pod(name: string, spec: Partial<V1PodSpec> = {}, labels: Record<string, string> = {}): Promise<void> {
    const containers = [{ name: 'c', image: 'busybox' }];
    await this.api.client.of(PODS).create({
      metadata: { name, namespace: 'default', labels },
      spec: { containers, terminationGracePeriodSeconds: 0, ...spec },
    });
  }

  get(name: string): Promise<Stored<V1Pod>> {
    return this.api.client.of(PODS).get({ name, namespace: 'default' });
  }

  async pods(): Promise<readonly Stored<V1Pod>[]> {
    return (await this.api.client.of(PODS).list({ namespace: 'default' })).items;
  }

  /** Pod name to node name, of those that have one. */
  async placements(): Promise<Readonly<Record<string, string>>> {
    const pods = await this.pods();
    return Object.fromEntries(
      pods.flatMap(({ metadata, spec }) => (spec.nodeName ? [[metadata.name, spec.nodeName]] : [])),
    );
  }

  async failures(name: string): Promise<readonly string[]> {
    const { items } = await this.api.client.of(EVENTS).list({ namespace: 'default' });
    return items
      .filter(({ reason, involvedObject }) => reason === 'FailedScheduling' && involvedObject.name === name)
      .map(({ message }) => message ?? '');
  }

  /** Removes all pods and nodes. */
  async clear(): Promise<void> {
    const { client } = this.api;
    for (const { metadata } of await this.pods())
      await client.of(PODS).delete({ name: metadata.name, namespace: 'default' }, { gracePeriodSeconds: 0 });
    for (const { metadata } of (await client.of(NODES).list()).items)
      await client.of(NODES).delete({ name: metadata.name });
    for (const { metadata } of (await client.of(EVENTS).list({ namespace: 'default' })).items)
      await client.of(EVENTS).delete({ name: metadata.name, namespace: 'default' });
  }

  close(): Promise<void> {
    return this.api.close();
  }
}

interface NodeShape {
  readonly labels?: Record<string, string>;
  readonly allocatable?: Record<string, string>;
  readonly spec?: V1Node['spec'];
}

export { until } from '../../support/until.js';
export const cpu = (amount: string): Partial<V1PodSpec> => ({
  containers: [{ name: 'c', image: 'busybox', resources: { requests: { cpu: amount } } }],
});
