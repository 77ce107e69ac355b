// What the certificate of a kubelet opens on the real server, and what it does not.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type {
  AuthenticationV1TokenRequest,
  V1Node,
  V1Pod,
  V1SelfSubjectAccessReview,
} from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUMES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  SERVICE_ACCOUNTS,
} from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const namespace = 'kube-system';
const RBAC = 'rbac.authorization.k8s.io';

let api: SecuredApiServer;
let kubelet: Client;
let own: Stored<V1Node>;
let pod: Stored<V1Pod>;
beforeAll(async () => {
  api = await startSecuredApiServer();
  const asNode = (name: string) =>
    api.as({ name: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] });
  kubelet = asNode('n1');
  own = await kubelet.of(NODES).create({ metadata: { name: 'n1' } });
  const other = asNode('n2');
  await other.of(NODES).create({ metadata: { name: 'n2' } });
  other.close();
  await api.client.of(SERVICE_ACCOUNTS).create({ metadata: { name: 'default', namespace } });
  await api.client.of(PERSISTENT_VOLUMES).create({
    metadata: { name: 'free' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
  });
  const vault = { serviceAccountToken: { path: 'vault', audience: 'vault' } };
  pod = await api.client.of(PODS).create({
    metadata: { name: 'web', namespace },
    spec: {
      nodeName: 'n1',
      containers: [{ name: 'c', image: 'busybox' }],
      volumes: [{ name: 'vault', projected: { sources: [vault] } }],
    },
  });
  await until(() => kubelet.of(PODS).get({ name: 'web', namespace }));
});
afterAll(async () => {
  kubelet.close();
  await api.close();
});

describe('reads', () => {
  test.each([
    ['all pods', '/api/v1/pods', 403],
    ['all pods of a namespace', `/api/v1/namespaces/${namespace}/pods`, 403],
    ['the pods of another node', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn2', 403],
    ['its pods', '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1', 200],
    ['all nodes', '/api/v1/nodes', 403],
    ['another node', '/api/v1/nodes/n2', 403],
    ['itself', '/api/v1/nodes/n1', 200],
    ['itself in a list', '/api/v1/nodes?fieldSelector=metadata.name%3Dn1', 200],
    ['a volume that is not its own', '/api/v1/persistentvolumes/free', 403],
  ])('%s', async (_, path, code) => {
    const read = kubelet.raw('GET', path);
    if (code === 200) expect(await read).toBeDefined();
    else await expect(read).rejects.toMatchObject({ code });
  });
});

describe('itself', () => {
  test.each([
    [
      'its owner',
      { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'x' }] } },
    ],
    ['its taints', { spec: { taints: [] } }],
    ['its role', { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } }],
    [
      'its configuration’s source',
      { spec: { configSource: { configMap: { name: 'x', namespace: 'y', kubeletConfigKey: 'z' } } } },
    ],
  ])('may not change %s', async (_, patch) => {
    await expect(kubelet.of(NODES).patch({ name: 'n1' }, 'merge', patch)).rejects.toThrow('is not allowed');
  });
  test('may not write the CSINode of another', async () => {
    const csiNode = (name: string) =>
      kubelet.of(CSI_NODES).create({ metadata: { name }, spec: { drivers: [] } });
    await csiNode('n1');
    await expect(csiNode('n2')).rejects.toThrow(
      'can only access CSINode with the same name as the requesting node',
    );
  });
});

describe('mirror pods', () => {
  const owner = () => ({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'n1',
    uid: own.metadata.uid,
    controller: true,
  });
  const mirror = (name: string, ownerReferences: readonly object[], spec = {}) =>
    kubelet.of(PODS).create({
      metadata: { name, namespace, annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'busybox' }], ...spec },
    } as V1Pod);

  test('are made when their node owns them, and open no token to it', async () => {
    const { uid } = (await mirror('static-n1', [owner()])).metadata;
    const ask = kubelet.of(SERVICE_ACCOUNTS).post({ name: 'default', namespace }, 'token', {
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'static-n1', uid } },
    });
    await expect(ask).rejects.toMatchObject({ code: 403 });
  });
  test.each<[string, () => readonly object[], object]>([
    ['without an owner', () => [], {}],
    [
      'of a ReplicaSet',
      () => [{ ...owner(), apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'victim' }],
      {},
    ],
    [
      'with a token',
      () => [owner()],
      { volumes: [{ name: 't', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
    ],
    ['with a claim of devices', () => [owner()], { resourceClaims: [{ name: 'd', resourceClaimName: 'x' }] }],
  ])('are refused %s', async (_, owners, spec) => {
    await expect(mirror('refused', owners(), spec)).rejects.toMatchObject({ code: 403 });
  });
});

describe('tokens of its pods', () => {
  const ask = (...audiences: readonly string[]) =>
    kubelet.of(SERVICE_ACCOUNTS).post<AuthenticationV1TokenRequest>({ name: 'default', namespace }, 'token', {
      spec: {
        audiences,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: pod.metadata.uid },
      },
    });
  test('are for the audiences that the pod names', async () => {
    for (const audiences of [[], ['vault']]) expect((await ask(...audiences)).status?.token).toBeDefined();
    await expect(ask('sts.example.com')).rejects.toThrow(
      'system:node:n1 is not authorized to request tokens for audience "sts.example.com"',
    );
    await expect(ask('vault', 'sts.example.com')).rejects.toThrow('node may only request 0 or 1 audiences');
  });
  test('are for others when the node has the right to ask for them', async () => {
    await api.client.of(CLUSTER_ROLES).create({
      metadata: { name: 'ask-registry' },
      rules: [
        {
          apiGroups: [''],
          resources: ['registry.example.com'],
          verbs: ['request-serviceaccounts-token-audience'],
        },
      ],
    });
    await api.client.of(CLUSTER_ROLE_BINDINGS).create({
      metadata: { name: 'ask-registry' },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'ask-registry' },
      subjects: [{ apiGroup: RBAC, kind: 'Group', name: 'system:nodes' }],
    });
    await until(() => ask('registry.example.com'));
  });
});

test('an eviction that is refused spends no budget and marks no pod', async () => {
  const budget = { name: 'web', namespace };
  const budgets = api.client.of(POD_DISRUPTION_BUDGETS);
  await api.client
    .of(PODS)
    .patch({ name: 'web', namespace }, 'merge', { metadata: { labels: { app: 'web' } } });
  await budgets.create({
    metadata: budget,
    spec: { minAvailable: 0, selector: { matchLabels: { app: 'web' } } },
  });
  const healthy = { currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, observedGeneration: 1 };
  const status = { ...healthy, disruptionsAllowed: 1 };
  await budgets.patch(budget, 'merge', { status }, { subresource: 'status' });
  const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await kubelet
    .of(PODS)
    .patch({ name: 'web', namespace }, 'merge', { status: ready }, { subresource: 'status' });
  const stranger = api.as({ name: 'system:node:n2', groups: ['system:nodes', 'system:authenticated'] });
  const evicted = stranger
    .of(PODS)
    .post({ name: 'web', namespace }, 'eviction', { metadata: { name: 'web', namespace } });
  await expect(evicted).rejects.toThrow('node "n2" can only evict pods with spec.nodeName set to itself');
  stranger.close();
  expect((await budgets.get(budget)).status).toMatchObject({ disruptionsAllowed: 1 });
  const { conditions = [] } = (await api.client.of(PODS).get({ name: 'web', namespace })).status ?? {};
  expect(conditions.map(({ type }) => type)).not.toContain('DisruptionTarget');
});

test.each(['exec', 'attach', 'portforward'])(
  '%s needs the right to create, also over a WebSocket',
  async (what) => {
    const grant = (name: string, verb: string) => ({
      metadata: { name },
      rules: [{ apiGroups: [''], resources: [`pods/${what}`], verbs: [verb] }],
    });
    for (const verb of ['get', 'create']) {
      const name = `${verb}-${what}`;
      await api.client.of(CLUSTER_ROLES).create(grant(name, verb));
      await api.client.of(CLUSTER_ROLE_BINDINGS).create({
        metadata: { name },
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
        subjects: [{ apiGroup: RBAC, kind: 'User', name }],
      });
    }
    const path = `/api/v1/namespaces/${namespace}/pods/web/${what}?command=ls&ports=80`;
    const ask = async (name: string, method: 'GET' | 'POST') => {
      const transport = api.server.inProcess({ name, groups: ['system:authenticated'] });
      const { status, body } = await transport.request({ method, path, headers: { upgrade: 'websocket' } });
      let text = '';
      for await (const piece of body) text += Buffer.from(piece).toString();
      transport.close();
      return { status, text };
    };
    // The node has told no address: to hear of that is to have been let through.
    await until(async () =>
      expect((await ask(`create-${what}`, 'POST')).text).toContain('no preferred addresses'),
    );
    await until(async () =>
      expect((await ask(`get-${what}`, 'GET')).text).toContain(`cannot create resource \\"pods/${what}\\"`),
    );
  },
);

test.each([
  [{ rawSelector: 'spec.nodeName=n1' }, true],
  [{ requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1'] }] }, true],
  [{ requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n1', 'n2'] }] }, false],
  [{ requirements: [{ key: 'spec.nodeName', operator: 'NotIn', values: ['n1'] }] }, false],
  [undefined, false],
])('a review tells whether it may list pods with %j: %s', async (fieldSelector, allowed) => {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const resourceAttributes = { verb: 'list', resource: 'pods', ...(fieldSelector && { fieldSelector }) };
  const { status } = await kubelet.raw<V1SelfSubjectAccessReview>('POST', path, {
    spec: { resourceAttributes },
  });
  expect(status?.allowed).toBe(allowed);
});
