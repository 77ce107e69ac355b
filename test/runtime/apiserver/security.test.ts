// The real server with its whole security, as kubectl, service accounts, kubelets and the scheduler meet it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AuthenticationV1TokenRequest, V1SelfSubjectReview } from '../../../src/api/gen/types.js';
import { silentLog } from '../../../src/api/log.js';
import {
  EVENTS,
  NAMESPACES,
  NODES,
  PODS,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
} from '../../../src/api/resources.js';
import { makeEventRecorder } from '../../../src/client/eventRecorder.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { Scheduler } from '../../../src/scheduler/scheduler.js';
import { type Kubectl, openKubectl } from '../../support/kubectl.js';
import { describeWith } from '../../support/requires.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

let api: SecuredApiServer;
beforeAll(async () => {
  api = await startSecuredApiServer();
  await api.client.of(NAMESPACES).create({ metadata: { name: 'team' } });
  for (const namespace of ['default', 'team'])
    await api.client.of(SERVICE_ACCOUNTS).create({ metadata: { name: 'default', namespace } });
});
afterAll(() => api.close());

const pod = (name: string, spec = {}) => ({
  metadata: { name, namespace: 'team' },
  spec: { containers: [{ name: 'c', image: 'busybox' }], ...spec },
});

describe('authorization', () => {
  test('refuses strangers and says what they lack', async () => {
    const jane = api.as({ name: 'jane', groups: ['system:authenticated'] });
    await expect(jane.of(PODS).list({ namespace: 'team' })).rejects.toMatchObject({
      code: 403,
      message:
        'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "team"',
    });
  });
  test('lets a kubelet register and report only itself', async () => {
    const kubelet = api.as({ name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] });
    const node = {
      metadata: { name: 'n1' },
      status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110' } },
    };
    const created = await kubelet.of(NODES).create(node);
    expect(created.spec.taints).toEqual([{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    await expect(kubelet.of(NODES).create({ metadata: { name: 'n2' } })).rejects.toThrow(
      'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"',
    );
    await expect(kubelet.of(SECRETS).list({ namespace: 'team' })).rejects.toMatchObject({ code: 403 });
  });
});

describe('a service account', () => {
  test('authenticates over TLS with the token it was given, until it is deleted', async () => {
    const accounts = api.client.of(SERVICE_ACCOUNTS);
    const name = { name: 'bot', namespace: 'team' };
    await accounts.create({ metadata: name });
    const { status } = await accounts.post<AuthenticationV1TokenRequest>(name, 'token', { spec: {} });
    const transport = openHttps({ server: api.url, ca: api.pki.ca, token: status?.token ?? '' });
    const bot = openClient(transport);
    try {
      const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
      const me = await bot.raw<V1SelfSubjectReview>('POST', path, { metadata: {} });
      expect(me.status?.userInfo).toMatchObject({
        username: 'system:serviceaccount:team:bot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
      });
      await accounts.delete(name);
      await until(() =>
        expect(bot.raw('GET', '/version')).rejects.toMatchObject({ code: 401, message: 'Unauthorized' }),
      );
    } finally {
      bot.close();
    }
  });
});

describe('admission', () => {
  test('completes a pod, and refuses one without a namespace or an account', async () => {
    const { spec } = await api.client.of(PODS).create(pod('complete', { schedulerName: 'none' }));
    expect(spec).toMatchObject({
      serviceAccountName: 'default',
      priority: 0,
      preemptionPolicy: 'PreemptLowerPriority',
    });
    expect(spec.volumes?.[0]?.name).toMatch(/^kube-api-access-/);
    expect(spec.tolerations).toHaveLength(2);
    const lost = { ...pod('x'), metadata: { name: 'x', namespace: 'nowhere' } };
    await expect(api.client.of(PODS).create(lost)).rejects.toThrow('namespaces "nowhere" not found');
    await expect(api.client.of(PODS).create(pod('x', { serviceAccountName: 'none' }))).rejects.toThrow(
      'pods "x" is forbidden: error looking up service account team/none: serviceaccount "none" not found',
    );
  });
});

describe('Services', () => {
  const service = (name: string, spec = {}) => ({
    metadata: { name, namespace: 'team' },
    spec: { ports: [{ port: 80 }], selector: { app: 'web' }, ...spec },
  });
  test('get addresses and ports, give them back, and never share them', async () => {
    const services = api.client.of(SERVICES);
    const first = await services.create(service('first', { type: 'NodePort' }));
    const { clusterIP = '', ports = [] } = first.spec;
    expect(clusterIP).toMatch(/^10\.96\./);
    const nodePort = ports[0]?.nodePort ?? 0;
    expect(nodePort).toBeGreaterThanOrEqual(30000);
    await expect(services.create(service('second', { clusterIP }))).rejects.toThrow(
      `failed to allocate IP ${clusterIP}: provided IP is already allocated`,
    );
    await expect(
      services.create(service('second', { type: 'NodePort', ports: [{ port: 80, nodePort }] })),
    ).rejects.toThrow(
      `spec.ports[0].nodePort: Invalid value: ${nodePort}: provided port is already allocated`,
    );
    // A create that fails in the store gives back what it had taken.
    await expect(services.create(service('first', { clusterIP: '10.96.0.77' }))).rejects.toMatchObject({
      code: 409,
    });
    await services.delete({ name: 'first', namespace: 'team' });
    const second = await services.create(
      service('second', { type: 'NodePort', clusterIP, ports: [{ port: 80, nodePort }] }),
    );
    expect(second.spec).toMatchObject({ clusterIP, ports: [{ nodePort }] });
    const third = await services.create(service('third', { clusterIP: '10.96.0.77' }));
    expect(third.spec.clusterIPs).toEqual(['10.96.0.77']);
  });
  test('the kubernetes Service has the first address', async () => {
    const { spec } = await api.client.of(SERVICES).get({ name: 'kubernetes', namespace: 'default' });
    expect(spec.clusterIP).toBe('10.96.0.1');
  });
});

describe('the scheduler, with its own role only', () => {
  test('tells why a pod waits, and binds it when the node is ready', async () => {
    const client = api.as({ name: 'system:kube-scheduler', groups: ['system:authenticated'] });
    const stop = new AbortController();
    const recorder = makeEventRecorder(client, { component: 'default-scheduler' });
    const running = new Scheduler({
      client,
      informers: api.informers,
      log: silentLog,
      recorder,
      signal: stop.signal,
    }).run();
    try {
      const pods = api.client.of(PODS);
      const name = { name: 'web', namespace: 'team' };
      await pods.create(pod('web'));
      const why =
        '0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.';
      await until(async () => {
        expect((await pods.get(name)).status.conditions).toMatchObject([
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: why },
        ]);
      });
      await api.client.of(NODES).patch({ name: 'n1' }, 'merge', { spec: { taints: null } });
      await until(async () => expect((await pods.get(name)).spec.nodeName).toBe('n1'));
      await recorder.flush();
      await until(async () => {
        const { items } = await api.client.of(EVENTS).list({ namespace: 'team' });
        const about = items.filter(({ involvedObject }) => involvedObject.name === 'web');
        expect(about.map(({ reason, message }) => `${reason}: ${message}`)).toEqual(
          expect.arrayContaining([
            `FailedScheduling: ${why}`,
            'Scheduled: Successfully assigned team/web to n1',
          ]),
        );
      });
      expect((await pods.get(name)).status.conditions).toMatchObject([
        { type: 'PodScheduled', status: 'True' },
      ]);
    } finally {
      stop.abort();
      await running;
    }
  });
});

describeWith({ tools: ['kubectl'] }, 'stock kubectl', () => {
  let admin: Kubectl;
  let jane: Kubectl;
  beforeAll(async () => {
    admin = await openKubectl(api.url, api.pki.ca, await api.pki.client('admin', 'system:masters'));
    jane = await openKubectl(api.url, api.pki.ca, await api.pki.client('jane', 'dev'));
  });
  afterAll(async () => {
    await admin.close();
    await jane.close();
  });
  test('grants, asks and is refused', async () => {
    expect((await jane('auth', 'can-i', 'list', 'pods', '-n', 'team')).stdout.trim()).toBe('no');
    expect((await jane('get', 'pods', '-n', 'team')).stderr).toContain(
      'Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "team"',
    );
    const granted = await admin(
      'create',
      'rolebinding',
      'devs',
      '--clusterrole=view',
      '--group=dev',
      '-n',
      'team',
    );
    expect(granted).toMatchObject({ code: 0 });
    await until(async () =>
      expect((await jane('auth', 'can-i', 'list', 'pods', '-n', 'team')).stdout.trim()).toBe('yes'),
    );
    expect(await jane('get', 'pods', '-n', 'team')).toMatchObject({ code: 0 });
    expect((await jane('auth', 'can-i', 'get', 'secrets', '-n', 'team')).stdout.trim()).toBe('no');
    expect(
      (await admin('auth', 'can-i', '--list', '--as=jane', '--as-group=dev', '-n', 'team')).stdout,
    ).toContain('deployments.apps');
  });
});
