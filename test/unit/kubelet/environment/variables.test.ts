// A container's variables.
// Guarantees: every source, its order, its optional form and its refusal in Kubernetes' words.
import { expect, test } from 'vitest';
import type { V1Container, V1Service } from '../../../../src/api/gen/types.js';
import { CONFIG_MAPS, SECRETS } from '../../../../src/api/resources.js';
import type { Informer } from '../../../../src/client/informer.js';
import { makeContainerEnvironment } from '../../../../src/kubelet/environment/containerEnvironment.js';
import { containerResource } from '../../../../src/kubelet/environment/resourceField.js';
import type { Service } from '../../../../src/kubelet/environment/services.js';
import { makePodObjects } from '../../../../src/kubelet/volumes/objects.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { podWith } from '../../../support/kubelet/podparts.js';
import { podOf } from '../support.js';

const service = (name: string, namespace: string, spec: V1Service['spec']) =>
  ({ metadata: { name, namespace }, spec }) as unknown as Service;

const kubernetes = service('kubernetes', 'default', {
  clusterIP: '10.0.0.1',
  ports: [{ name: 'https', port: 443, protocol: 'TCP' }],
});

function scene({ services = [kubernetes], synced = true }: { services?: Service[]; synced?: boolean } = {}) {
  const client = new FakeApi();
  client.put(CONFIG_MAPS, {
    metadata: { name: 'settings', namespace: 'shop' },
    data: { color: 'red', size: 'L' },
  } as object);
  client.put(SECRETS, {
    metadata: { name: 'login', namespace: 'shop' },
    data: { user: Buffer.from('eve').toString('base64') },
  } as object);
  const informer = { list: () => services, hasSynced: () => synced } as unknown as Informer<V1Service>;
  const skipped: string[] = [];
  const environment = makeContainerEnvironment({
    rootDir: '/nowhere',
    clusterDomain: 'cluster.local',
    objects: makePodObjects({ client, now: () => 0 }),
    services: informer,
    hostIps: () => ['192.0.2.1', '2001:db8::1'],
    allocatable: () => ({ cpu: '2', memory: '4Gi' }),
    onSkipped: (_, message) => skipped.push(message),
  });
  const pod = podWith(
    { nodeName: 'n1', serviceAccountName: 'robot' },
    { labels: { app: 'web' }, annotations: { note: 'a "b"' } },
  );
  const variables = async (container: Partial<V1Container>, changes: Partial<typeof pod.spec> = {}) => {
    const whole = { name: 'main', image: 'busybox', ...container };
    const asked = { ...pod, spec: { ...pod.spec, containers: [whole], ...changes } };
    const podIps = ['10.1.0.5', 'fd00::5'];
    const list = await environment.variables({ pod: asked, container: whole, podIps, volumes: new Map() });
    return Object.fromEntries(list.map(({ key, value }) => [key, value]));
  };
  return { variables, skipped, client };
}

test('values refer to earlier variables, to envFrom and to services', async () => {
  const { variables } = scene();
  const found = await variables({
    envFrom: [{ prefix: 'CM_', configMapRef: { name: 'settings' } }],
    env: [
      { name: 'A', value: 'a' },
      { name: 'B', value: '$(A)/$(CM_color)/$(KUBERNETES_SERVICE_HOST)/$(LATER)' },
      { name: 'LATER', value: 'x' },
      { name: 'EMPTY' },
    ],
  });
  expect(found).toMatchObject({ A: 'a', B: 'a/red/10.0.0.1/$(LATER)', EMPTY: '', CM_size: 'L' });
});

test.each([
  ['metadata.name', 'web'],
  ['metadata.namespace', 'shop'],
  ['metadata.uid', '0b5e6c1e-0000-4000-8000-000000000001'],
  ["metadata.labels['app']", 'web'],
  ["metadata.labels['none']", ''],
  ["metadata.annotations['note']", 'a "b"'],
  ['metadata.annotations', 'note="a \\"b\\""'],
  ['spec.nodeName', 'n1'],
  ['spec.serviceAccountName', 'robot'],
  ['status.hostIP', '192.0.2.1'],
  ['status.hostIPs', '192.0.2.1,2001:db8::1'],
  ['status.podIP', '10.1.0.5'],
  ['status.podIPs', '10.1.0.5,fd00::5'],
])('the field %s', async (fieldPath, want) => {
  const { variables } = scene();
  const found = await variables({ env: [{ name: 'X', valueFrom: { fieldRef: { fieldPath } } }] });
  expect(found['X']).toBe(want);
});

test('a pod in the network of the node has the addresses of the node', async () => {
  const env = [{ name: 'X', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }];
  expect((await scene().variables({ env }, { hostNetwork: true }))['X']).toBe('192.0.2.1');
});

test.each([
  ['limits.cpu', undefined, '2'],
  ['limits.cpu', '1m', '1500'],
  ['requests.cpu', '1m', '250'],
  ['requests.cpu', undefined, '1'],
  ['limits.memory', '1Mi', '64'],
  ['limits.memory', undefined, '67108864'],
  ['requests.memory', '1Mi', '4'],
  ['limits.ephemeral-storage', '1', '0'],
])('the resource %s in units of %s', async (resource, divisor, want) => {
  const resources = { limits: { cpu: '1500m', memory: '64Mi' }, requests: { cpu: '250m', memory: '3.5Mi' } };
  const selector = divisor === undefined ? { resource } : { resource, divisor };
  const env = [{ name: 'X', valueFrom: { resourceFieldRef: selector } }];
  expect((await scene().variables({ env, resources }))['X']).toBe(want);
});

test('a limit that is not set is what the node can give', async () => {
  const resourceFieldRef = { resource: 'limits.memory', divisor: '1Gi' };
  const found = await scene().variables({ env: [{ name: 'X', valueFrom: { resourceFieldRef } }] });
  expect(found['X']).toBe('4');
});

test('a limit that is not set is the pod’s own where the pod has one', () => {
  const main = { name: 'main' };
  const pod = podOf({ containers: [main], resources: { limits: { cpu: '500m' } } });
  const value = (resource: string) =>
    containerResource(pod, main, { resource, divisor: '1m' }, { cpu: '4', memory: '4' });
  expect([value('limits.cpu'), value('requests.cpu')]).toEqual(['500', '0']);
  expect(containerResource(pod, main, { resource: 'limits.memory' }, { memory: '4Gi' })).toBe(
    String(2 ** 32),
  );
});

test('keys of configMaps and secrets, and optional ones that are missing', async () => {
  const found = await scene().variables({
    envFrom: [{ secretRef: { name: 'none', optional: true } }, { secretRef: { name: 'login' } }],
    env: [
      { name: 'C', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
      { name: 'S', valueFrom: { secretKeyRef: { name: 'login', key: 'user' } } },
      { name: 'O1', valueFrom: { secretKeyRef: { name: 'login', key: 'none', optional: true } } },
      { name: 'O2', valueFrom: { configMapKeyRef: { name: 'none', key: 'x', optional: true } } },
    ],
  });
  expect(found).toMatchObject({ C: 'red', S: 'eve', user: 'eve' });
  expect(found).not.toHaveProperty('O1');
  expect(found).not.toHaveProperty('O2');
});

test.each<[string, Partial<V1Container>, string]>([
  ['a configMap', { envFrom: [{ configMapRef: { name: 'x' } }] }, 'configmap "x" not found'],
  ['a secret', { envFrom: [{ secretRef: { name: 'x' } }] }, 'secret "x" not found'],
  [
    'a configMap of a key',
    { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'x', key: 'k' } } }] },
    'configmap "x" not found',
  ],
  [
    'a key of a configMap',
    { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'settings', key: 'k' } } }] },
    "couldn't find key k in ConfigMap shop/settings",
  ],
  [
    'a key of a secret',
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'login', key: 'k' } } }] },
    "couldn't find key k in Secret shop/login",
  ],
  [
    'a field that is not offered',
    { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.hostname' } } }] },
    'unsupported fieldPath: spec.hostname',
  ],
])('%s that is missing is named', async (_, container, message) => {
  await expect(scene().variables(container)).rejects.toMatchObject({
    reason: 'CreateContainerConfigError',
    message,
  });
});

test('keys that cannot name a variable are skipped and told', async () => {
  const { variables, skipped, client } = scene();
  client.put(CONFIG_MAPS, {
    metadata: { name: 'odd', namespace: 'shop' },
    data: { 'a=b': '1', ä: '2', 'ok.name': '3' },
  } as object);
  const found = await variables({ envFrom: [{ configMapRef: { name: 'odd' } }] });
  expect(found).toMatchObject({ 'ok.name': '3' });
  expect(Object.keys(found)).not.toContain('a=b');
  expect(skipped[0]).toMatch(/^Keys \[a=b, ä\] from the EnvFrom configMap shop\/odd were skipped/);
});

test('services of the namespace in both styles, and kubernetes always', async () => {
  const services = [
    kubernetes,
    service('my-db', 'shop', {
      clusterIP: '10.0.0.7',
      ports: [{ name: 'sql-in', port: 5432, protocol: 'TCP' }],
    }),
    service('six', 'shop', { clusterIP: 'fd00::9', ports: [{ port: 53, protocol: 'UDP' }] }),
    service('headless', 'shop', { clusterIP: 'None', ports: [{ port: 1 }] }),
    service('elsewhere', 'other', { clusterIP: '10.0.0.8', ports: [{ port: 1 }] }),
  ];
  const found = await scene({ services }).variables({});
  expect(found).toMatchObject({
    MY_DB_SERVICE_HOST: '10.0.0.7',
    MY_DB_SERVICE_PORT: '5432',
    MY_DB_SERVICE_PORT_SQL_IN: '5432',
    MY_DB_PORT: 'tcp://10.0.0.7:5432',
    MY_DB_PORT_5432_TCP: 'tcp://10.0.0.7:5432',
    MY_DB_PORT_5432_TCP_PROTO: 'tcp',
    MY_DB_PORT_5432_TCP_PORT: '5432',
    MY_DB_PORT_5432_TCP_ADDR: '10.0.0.7',
    SIX_PORT: 'udp://[fd00::9]:53',
    KUBERNETES_SERVICE_PORT_HTTPS: '443',
  });
  expect(Object.keys(found).filter((key) => /HEADLESS|ELSEWHERE/.test(key))).toEqual([]);
  const unlinked = await scene({ services }).variables({}, { enableServiceLinks: false });
  expect(Object.keys(unlinked).every((key) => key.startsWith('KUBERNETES_'))).toBe(true);
});

test('before the first list of services a pod of the apiserver waits', async () => {
  await expect(scene({ synced: false }).variables({})).rejects.toThrow('services have not yet been read');
});
