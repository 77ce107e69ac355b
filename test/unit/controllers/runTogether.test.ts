// Every controller at once against an API in memory: what a user does, and what becomes of it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/object.js';
import * as resources from '../../../src/api/resources.js';
import { controllerNames } from '../../../src/controllers/run.js';
import { FakeApi } from '../../support/fakeApi.js';
import { startControllers } from './support/running.js';

const { CONFIG_MAPS, DEPLOYMENTS, ENDPOINT_SLICES, ENDPOINTS, EVENTS, LEASES, NAMESPACES, NODES } = resources;
const { PODS, REPLICA_SETS, RESOURCE_QUOTAS, SECRETS, SERVICE_ACCOUNTS, SERVICES } = resources;

let api: FakeApi;
let stop: () => Promise<void>;
let skewMs = 0;

beforeEach(async () => {
  skewMs = 0;
  const now = () => Date.now() + skewMs;
  api = new FakeApi({ now });
  stop = startControllers(api, { rootCa: 'PEM', nodeMonitorPeriodMs: 5, now });
  await api.of(NAMESPACES).create({ metadata: { name: 'default' }, spec: { finalizers: ['kubernetes'] } });
});
afterEach(() => stop());

async function until(what: () => unknown): Promise<void> {
  const end = Date.now() + 5000;
  while (!what() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 2));
  expect(what()).toBeTruthy();
}

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { nodeName: 'n1', containers: [{ name: 'm', image: 'i' }] },
};

async function makeWeb(replicas: number): Promise<void> {
  await api.of(DEPLOYMENTS).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas, selector: { matchLabels: { app: 'web' } }, template },
  });
  await until(() => api.all(PODS).length === replicas);
}

function bringUp(): void {
  for (const [index, { metadata }] of api.all(PODS).entries())
    api.setStatus(PODS, metadata, {
      phase: 'Running',
      podIPs: [{ ip: `10.1.0.${index + 1}` }],
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    });
}

const endTerminating = () => {
  for (const { metadata } of api.all(PODS)) if (metadata.deletionTimestamp) api.remove(PODS, metadata);
};

describe('the controllers together', () => {
  test('knows them by the names of their namesakes', () => {
    expect(controllerNames()).toContain('endpointslice-controller');
    expect(new Set(controllerNames()).size).toBe(controllerNames().length);
  });

  test('brings a deployment up, tells of it, and lists its pods under a service', async () => {
    await api.of(SERVICES).create({
      metadata: { name: 'web', namespace: 'default' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }], ipFamilies: ['IPv4'] },
    });
    await makeWeb(3);
    bringUp();
    await until(() => api.get(DEPLOYMENTS, 'default/web')?.status.availableReplicas === 3);
    const ready = () =>
      api
        .all(ENDPOINT_SLICES)
        .flatMap(({ endpoints = [] }) => endpoints.filter(({ conditions }) => conditions?.ready));
    await until(() => ready().length === 3);
    await until(() => api.get(ENDPOINTS, 'default/web')?.subsets?.[0]?.addresses?.length === 3);
    const [set] = api.all(REPLICA_SETS);
    await until(() => api.all(EVENTS).some(({ reason }) => reason === 'ScalingReplicaSet'));
    const messages = api.all(EVENTS).map(({ message }) => message);
    expect(messages).toContain(`Scaled up replica set ${set?.metadata.name} from 0 to 3`);
    await until(() => api.all(EVENTS).filter(({ reason }) => reason === 'SuccessfulCreate').length > 0);
    await api.of(SERVICES).delete({ name: 'web', namespace: 'default' });
    await until(() => api.all(ENDPOINT_SLICES).length + api.all(ENDPOINTS).length === 0);
  });

  test('tells the zone of an endpoint when its node tells it later', async () => {
    await api.of(SERVICES).create({
      metadata: { name: 'web', namespace: 'default' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }], ipFamilies: ['IPv4'] },
    });
    await makeWeb(1);
    bringUp();
    const zones = () =>
      api.all(ENDPOINT_SLICES).flatMap(({ endpoints }) => endpoints?.map(({ zone }) => zone));
    await until(() => zones().length === 1);
    await api.of(NODES).create({ metadata: { name: 'n1' } });
    await api
      .of(NODES)
      .patch({ name: 'n1' }, 'merge', { metadata: { labels: { 'topology.kubernetes.io/zone': 'east' } } });
    await until(() => zones()[0] === 'east');
  });

  test('gives back what a quota counted as soon as it is deleted, whatever the kind', async () => {
    const make = (type: typeof CONFIG_MAPS | typeof SECRETS, name: string) =>
      api.of<KubeObject>(type).create({ metadata: { name, namespace: 'default' } });
    await make(CONFIG_MAPS, 'a');
    await make(SECRETS, 'b');
    await until(() => api.all(CONFIG_MAPS).length === 2); // the root CA's is the other
    const hard = { 'count/configmaps': '5', secrets: '5' };
    await api.of(RESOURCE_QUOTAS).create({ metadata: { name: 'q', namespace: 'default' }, spec: { hard } });
    const used = () => api.get(RESOURCE_QUOTAS, 'default/q')?.status?.used ?? {};
    await until(() => used()['count/configmaps'] === '2' && used()['secrets'] === '1');
    await api.of(CONFIG_MAPS).delete({ name: 'a', namespace: 'default' });
    await api.of(SECRETS).delete({ name: 'b', namespace: 'default' });
    await until(() => used()['count/configmaps'] === '1' && used()['secrets'] === '0');
  });

  test('takes back the announcement of a disruption that did not come', async () => {
    await makeWeb(1);
    bringUp();
    const [web] = api.all(PODS);
    const told = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
    api.setStatus(PODS, web?.metadata ?? { name: '' }, {
      ...web?.status,
      conditions: [
        ...(web?.status?.conditions ?? []),
        { ...told, lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    });
    const target = () => api.all(PODS)[0]?.status?.conditions?.find(({ type }) => type === told.type);
    await until(() => target()?.status === 'False');
  });

  test('takes in a pod that fits and lets go of one that no longer does', async () => {
    await api.of(PODS).create({
      metadata: { name: 'stray', namespace: 'default', labels: { app: 'solo' } },
      spec: template.spec,
    });
    await api.of(REPLICA_SETS).create({
      metadata: { name: 'solo', namespace: 'default' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'solo' } },
        template: { ...template, metadata: { labels: { app: 'solo' } } },
      },
    });
    await until(() => api.all(PODS).length === 2);
    expect(api.get(PODS, 'default/stray')?.metadata.ownerReferences?.[0]?.name).toBe('solo');
    const stray = await api.of(PODS).get({ name: 'stray', namespace: 'default' });
    await api.of(PODS).update({ ...stray, metadata: { ...stray.metadata, labels: { app: 'debug' } } });
    await until(() => api.all(PODS).length === 3);
    await until(() => api.get(PODS, 'default/stray')?.metadata.ownerReferences?.length === 0);
  });

  test('clears away what a deleted deployment owned', async () => {
    await makeWeb(2);
    await api.of(DEPLOYMENTS).delete({ name: 'web', namespace: 'default' });
    await until(() => {
      endTerminating();
      return api.all(PODS).length + api.all(REPLICA_SETS).length === 0;
    });
  });

  test('keeps the owner until its dependents are gone, when asked to', async () => {
    await makeWeb(2);
    await api
      .of(DEPLOYMENTS)
      .delete({ name: 'web', namespace: 'default' }, { propagationPolicy: 'Foreground' });
    await until(() => api.all(PODS).every(({ metadata }) => metadata.deletionTimestamp !== undefined));
    expect(api.all(DEPLOYMENTS)).toHaveLength(1);
    await until(() => {
      endTerminating();
      return api.all(DEPLOYMENTS).length === 0;
    });
    expect(api.all(PODS).length + api.all(REPLICA_SETS).length).toBe(0);
  });

  test('leaves the dependents behind, when asked to', async () => {
    await makeWeb(2);
    await api.of(DEPLOYMENTS).delete({ name: 'web', namespace: 'default' }, { propagationPolicy: 'Orphan' });
    await until(() => api.all(DEPLOYMENTS).length === 0);
    expect(api.all(REPLICA_SETS)[0]?.metadata.ownerReferences).toEqual([]);
    expect(api.all(PODS)).toHaveLength(2);
  });

  test('furnishes every namespace, and empties one that is deleted', async () => {
    await api.of(NAMESPACES).create({ metadata: { name: 'team' }, spec: { finalizers: ['kubernetes'] } });
    await until(
      () => api.get(SERVICE_ACCOUNTS, 'team/default') && api.get(CONFIG_MAPS, 'team/kube-root-ca.crt'),
    );
    await api.of(SERVICE_ACCOUNTS).delete({ name: 'default', namespace: 'team' });
    await until(() => api.get(SERVICE_ACCOUNTS, 'team/default'));
    const held: KubeObject = {
      metadata: { name: 'held', namespace: 'team', finalizers: ['example.com/hold'] },
    };
    await api.of(SECRETS).create(held);
    await api.of(PODS).create({ metadata: { name: 'p', namespace: 'team' }, spec: template.spec });
    await api.of(NAMESPACES).delete({ name: 'team' });
    await until(() => api.get(PODS, 'team/p')?.metadata.deletionTimestamp);
    expect(api.get(SECRETS, 'team/held')?.metadata.deletionTimestamp).toBeUndefined();
    endTerminating();
    const reason = () =>
      api.get(NAMESPACES, 'team')?.status.conditions?.map((condition) => condition.reason) ?? [];
    await until(() => reason().includes('SomeFinalizersRemain'));
    const secret = await api.of(SECRETS).get({ name: 'held', namespace: 'team' });
    await api.of(SECRETS).update({ ...secret, metadata: { ...secret.metadata, finalizers: [] } });
    await until(() => api.get(NAMESPACES, 'team') === undefined);
    expect(api.get(SERVICE_ACCOUNTS, 'team/default')).toBeUndefined();
  });

  test('gives nodes networks, marks a silent one and moves its pods, not the last one', async () => {
    for (const name of ['n1', 'n2']) {
      await api.of(NODES).create({ metadata: { name } });
      await api
        .of(LEASES)
        .create({ metadata: { name, namespace: 'kube-node-lease' }, spec: { renewTime: '0' } });
      api.setStatus(NODES, { name }, { conditions: [{ type: 'Ready', status: 'True' }] });
    }
    await until(() => new Set(api.all(NODES).map(({ spec }) => spec.podCIDR)).size === 2);
    await until(() => api.all(NODES).every(({ spec }) => (spec.taints ?? []).length === 0));
    await makeWeb(1);
    bringUp();
    const renew = async (name: string, renewTime: string) => {
      const lease = await api.of(LEASES).get({ name, namespace: 'kube-node-lease' });
      await api.of(LEASES).update({ ...lease, spec: { renewTime } });
    };
    // Time to see each change; seeing two as one could only make the test fail, not pass.
    await new Promise((resolve) => setTimeout(resolve, 30));
    skewMs = 30_000;
    await renew('n2', '30');
    await new Promise((resolve) => setTimeout(resolve, 30));
    skewMs = 50_000;
    const keys = (name: string) =>
      (api.get(NODES, name)?.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
    await until(() => keys('n1').includes('node.kubernetes.io/unreachable:NoExecute'));
    await until(() => api.all(PODS).some(({ metadata }) => metadata.deletionTimestamp !== undefined));
    await renew('n2', '50');
    await new Promise((resolve) => setTimeout(resolve, 30));
    skewMs = 200_000;
    await until(() => keys('n2').includes('node.kubernetes.io/unreachable:NoSchedule'));
    await until(() => [...keys('n1'), ...keys('n2')].every((key) => !key.endsWith('NoExecute')));
  });
});
