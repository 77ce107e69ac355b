// Manifests as people write them, through the real apiserver: each kind does what its description says.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../../../src/api/object.js';
import * as kinds from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { until } from '../../support/until.js';
import { openWorld, type World } from './support/world.js';

const NODE_NAMES = ['n0', 'n1', 'n2'];
const named = (name: string, namespace = 'default') => ({ name, namespace });

let world: World;
beforeAll(async () => {
  world = await openWorld(NODE_NAMES);
}, 60_000);
afterAll(() => world.close());

async function apply<T extends KubeObject>(type: kinds.ResourceType<T>, yaml: string) {
  const object = parse(yaml) as T & { metadata: object };
  const metadata = { ...(type.namespaced ? { namespace: 'default' } : {}), ...object.metadata };
  return world.client.of(type).create({ ...object, metadata });
}

const podsOf = async (app: string, namespace = 'default') =>
  (await world.client.of(kinds.PODS).list({ namespace, labelSelector: `app=${app}` })).items;
const refusedAs = (reason: 'Forbidden' | 'TooManyRequests' | 'Unauthorized') => (error: unknown) =>
  ApiError.is(error, reason);

const scale = (name: string, replicas: number) =>
  world.client
    .of(kinds.REPLICATION_CONTROLLERS)
    .patch(named(name), 'merge', { spec: { replicas } }, { subresource: 'scale' });

test('a ReplicationController keeps two pods, and three when it is scaled', async () => {
  await apply(
    kinds.REPLICATION_CONTROLLERS,
    `
metadata: { name: httpd, labels: { app: httpd } }
spec:
  replicas: 2
  selector: { app: httpd }
  template:
    metadata: { labels: { app: httpd } }
    spec:
      containers:
      - { name: httpd, image: docker.io/httpd:latest, imagePullPolicy: Never, ports: [{ containerPort: 80 }] }
`,
  );
  const controllers = world.client.of(kinds.REPLICATION_CONTROLLERS);
  await until(async () => expect((await controllers.get(named('httpd'))).status.readyReplicas).toBe(2));
  const [victim] = await podsOf('httpd');
  await world.client.of(kinds.PODS).delete(victim?.metadata ?? named(''));
  await until(async () => {
    const pods = await podsOf('httpd');
    expect(pods.filter(({ metadata }) => metadata.uid !== victim?.metadata.uid)).toHaveLength(2);
  });
  await scale('httpd', 3);
  await until(async () => expect((await controllers.get(named('httpd'))).status.readyReplicas).toBe(3));
}, 60_000);

test('a HorizontalPodAutoscaler follows the processor time that pods use', async () => {
  world.cpu = () => '320m';
  await apply(
    kinds.REPLICATION_CONTROLLERS,
    `
metadata: { name: nginx }
spec:
  replicas: 3
  selector: { app: nginx }
  template:
    metadata: { labels: { app: nginx } }
    spec: { containers: [{ name: nginx, image: nginx, resources: { requests: { cpu: 200m } } }] }
`,
  );
  const controllers = world.client.of(kinds.REPLICATION_CONTROLLERS);
  await until(async () => expect((await controllers.get(named('nginx'))).status.readyReplicas).toBe(3));
  await world.client.raw(
    'POST',
    '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers',
    parse(`
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: { name: nginx }
spec:
  scaleTargetRef: { apiVersion: v1, kind: ReplicationController, name: nginx }
  minReplicas: 3
  maxReplicas: 10
  targetCPUUtilizationPercentage: 80
`),
  );
  // 160 percent of what was asked for, twice the target: twice the pods.
  await until(async () => expect((await controllers.get(named('nginx'))).spec.replicas).toBe(6));
  const autoscaler = await world.client.of(kinds.HORIZONTAL_POD_AUTOSCALERS).get(named('nginx'));
  expect(autoscaler.status.desiredReplicas).toBe(6);
}, 60_000);

test('a Deployment replaces its pods by new ones, and never has fewer than three of four', async () => {
  await world.client.of(kinds.SERVICE_ACCOUNTS).create({ metadata: named('builder') });
  await apply(
    kinds.DEPLOYMENTS,
    `
metadata: { name: web-deployment }
spec:
  replicas: 4
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      serviceAccountName: builder
      containers: [{ name: myweb, image: 'myweb:v1', ports: [{ containerPort: 80 }] }]
`,
  );
  const deployments = world.client.of(kinds.DEPLOYMENTS);
  await until(async () =>
    expect((await deployments.get(named('web-deployment'))).status.availableReplicas).toBe(4),
  );
  const containers = [{ name: 'myweb', image: 'myweb:v2' }];
  await deployments.patch(named('web-deployment'), 'strategic', {
    spec: { template: { spec: { containers } } },
  });
  let fewest = 4;
  await until(async () => {
    const { status, metadata } = await deployments.get(named('web-deployment'));
    fewest = Math.min(fewest, status.availableReplicas ?? 0);
    expect(status.observedGeneration).toBe(metadata.generation);
    expect([status.updatedReplicas, status.replicas, status.availableReplicas]).toEqual([4, 4, 4]);
  });
  expect(fewest).toBeGreaterThanOrEqual(3);
  const pods = await podsOf('web');
  expect(new Set(pods.map(({ spec }) => spec.containers[0]?.image))).toEqual(new Set(['myweb:v2']));
  expect(new Set(pods.map(({ spec }) => spec.serviceAccountName))).toEqual(new Set(['builder']));
}, 60_000);

test('a Job runs four pods, one after the other', async () => {
  world.fate = ({ metadata }) => (metadata.labels?.['app'] === 'pi' ? 'succeeded' : 'ready');
  await apply(
    kinds.JOBS,
    `
metadata: { name: pi }
spec:
  completions: 4
  parallelism: 1
  template:
    metadata: { labels: { app: pi } }
    spec:
      restartPolicy: Never
      containers: [{ name: pi, image: perl, command: [perl, '-Mbignum=bpi', '-wle', 'print bpi(2000)'] }]
`,
  );
  let most = 0;
  await until(async () => {
    const running = (await podsOf('pi')).filter(({ status }) => status.phase !== 'Succeeded');
    most = Math.max(most, running.length);
    expect((await world.client.of(kinds.JOBS).get(named('pi'))).status.succeeded).toBe(4);
  });
  expect(most).toBeLessThanOrEqual(1);
  expect(world.made.filter((name) => name.startsWith('pi-'))).toHaveLength(4);
}, 60_000);

test('a DaemonSet has one pod on every node', async () => {
  await apply(
    kinds.DAEMON_SETS,
    `
metadata: { name: fluentd }
spec:
  selector: { matchLabels: { app: logging, id: fluentd } }
  template:
    metadata: { labels: { app: logging, id: fluentd }, name: fluentd }
    spec:
      containers:
      - name: fluentd-es
        image: gcr.io/google_containers/fluentd-elasticsearch:1.3
        env: [{ name: FLUENTD_ARGS, value: -qq }]
        volumeMounts: [{ name: varlog, mountPath: /varlog }]
      volumes: [{ name: varlog, hostPath: { path: /var/log } }]
`,
  );
  await until(async () => {
    const pods = await podsOf('logging');
    expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(NODE_NAMES);
  });
}, 60_000);

test('a Service without selector has the endpoints that are written for it', async () => {
  await apply(
    kinds.SERVICES,
    `
metadata: { name: mysql }
spec: { ports: [{ port: 3036, targetPort: 3036, protocol: TCP }] }
`,
  );
  await apply(
    kinds.ENDPOINTS,
    `
metadata: { name: mysql }
subsets: [{ addresses: [{ ip: 192.168.3.180 }], ports: [{ port: 3060, protocol: TCP }] }]
`,
  );
  await until(async () => {
    const labelSelector = 'kubernetes.io/service-name=mysql';
    const { items } = await world.client
      .of(kinds.ENDPOINT_SLICES)
      .list({ namespace: 'default', labelSelector });
    expect(items.map(({ endpoints, ports }) => [endpoints?.[0]?.addresses, ports?.[0]?.port])).toEqual([
      [['192.168.3.180'], 3060],
    ]);
  });
}, 60_000);

test('a claim gets the volume that has what it asks for', async () => {
  await apply(
    kinds.PERSISTENT_VOLUMES,
    `
metadata: { name: nfspv, labels: { type: nfs } }
spec: { capacity: { storage: 5Gi }, accessModes: [ReadWriteMany], nfs: { server: nfs-server, path: / } }
`,
  );
  await apply(
    kinds.PERSISTENT_VOLUME_CLAIMS,
    `
metadata: { name: testpvc }
spec: { accessModes: [ReadWriteMany], storageClassName: '', resources: { requests: { storage: 1Gi } } }
`,
  );
  await until(async () => {
    const { spec, status } = await world.client.of(kinds.PERSISTENT_VOLUME_CLAIMS).get(named('testpvc'));
    expect([spec.volumeName, status.phase]).toEqual(['nfspv', 'Bound']);
  });
}, 60_000);

describe('a namespace of its own', () => {
  const IN = 'development';
  const pod = (name: string, resources: object) => ({
    metadata: named(name, IN),
    spec: { containers: [{ name: 'main', image: 'i', resources }] },
  });
  const small = { requests: { cpu: '200m', memory: '64Mi' }, limits: { cpu: '300m', memory: '64Mi' } };

  beforeAll(async () => {
    await world.client.of(kinds.NAMESPACES).create({ metadata: { name: IN } });
    await until(() => world.client.of(kinds.SERVICE_ACCOUNTS).get(named('default', IN)));
  }, 60_000);

  test('has a ResourceQuota: pods must say what they need, and it is counted until they are gone', async () => {
    await apply(
      kinds.RESOURCE_QUOTAS,
      `
metadata: { name: compute-resources, namespace: ${IN} }
spec:
  hard: { pods: '10', requests.cpu: '1', requests.memory: 1Gi, limits.cpu: '2', limits.memory: 512Mi }
`,
    );
    const quotas = world.client.of(kinds.RESOURCE_QUOTAS);
    const used = async () => (await quotas.get(named('compute-resources', IN))).status.used ?? {};
    await until(async () => expect(await used()).toMatchObject({ pods: '0', 'requests.cpu': '0' }));
    const pods = world.client.of(kinds.PODS);
    await expect(pods.create(pod('vague', {}))).rejects.toSatisfy(refusedAs('Forbidden'));
    await pods.create(pod('exact', small));
    await until(async () => expect(await used()).toMatchObject({ pods: '1', 'requests.cpu': '200m' }));
    const large = { requests: { cpu: '900m', memory: '64Mi' }, limits: { cpu: '1', memory: '64Mi' } };
    await expect(pods.create(pod('large', large))).rejects.toSatisfy(refusedAs('Forbidden'));
    await pods.delete(named('exact', IN));
    await until(async () => expect(await used()).toMatchObject({ pods: '0', 'requests.cpu': '0' }));
  }, 60_000);

  test('has a LimitRange: who says nothing gets its defaults, who asks for too much is refused', async () => {
    await apply(
      kinds.LIMIT_RANGES,
      `
metadata: { name: mylimits, namespace: ${IN} }
spec:
  limits:
  - { type: Pod, max: { cpu: '2', memory: 1Gi }, min: { cpu: 200m, memory: 6Mi } }
  - type: Container
    default: { cpu: 300m, memory: 200Mi }
    defaultRequest: { cpu: 200m, memory: 100Mi }
    max: { cpu: '2', memory: 1Gi }
    min: { cpu: 100m, memory: 3Mi }
`,
    );
    const pods = world.client.of(kinds.PODS);
    await until(() => pods.create(pod('silent', {})));
    const { spec } = await pods.get(named('silent', IN));
    expect(spec.containers[0]?.resources).toEqual({
      requests: { cpu: '200m', memory: '100Mi' },
      limits: { cpu: '300m', memory: '200Mi' },
    });
    const large = { requests: { cpu: '3' }, limits: { cpu: '3' } };
    await expect(pods.create(pod('large', large))).rejects.toSatisfy(refusedAs('Forbidden'));
  }, 60_000);

  test("has a ServiceAccount; a Secret for it is filled with a token that is the account's until the Secret goes", async () => {
    const secrets = world.client.of(kinds.SECRETS);
    await secrets.create({
      metadata: {
        ...named('default-token', IN),
        annotations: { 'kubernetes.io/service-account.name': 'default' },
      },
      type: 'kubernetes.io/service-account-token',
    });
    const { data = {}, metadata } = await until(async () => {
      const secret = await secrets.get(named('default-token', IN));
      expect(Object.keys(secret.data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'token']);
      return secret;
    });
    const account = await world.client.of(kinds.SERVICE_ACCOUNTS).get(named('default', IN));
    expect(metadata.annotations?.['kubernetes.io/service-account.uid']).toBe(account.metadata.uid);
    expect(Buffer.from(data['namespace'] ?? '', 'base64').toString()).toBe(IN);
    const token = Buffer.from(data['token'] ?? '', 'base64').toString();
    const client = openClient(openHttps({ server: world.api.url, ca: world.api.pki.ca, token }));
    const whoAmI = () =>
      client.raw<{ status: { userInfo: { username: string } } }>(
        'POST',
        '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      );
    try {
      expect((await whoAmI()).status.userInfo.username).toBe(`system:serviceaccount:${IN}:default`);
      await secrets.delete(named('default-token', IN));
      await until(() => expect(whoAmI()).rejects.toSatisfy(refusedAs('Unauthorized')));
    } finally {
      client.close();
    }
  }, 60_000);
});

test('a PodDisruptionBudget counts what may go, and keeps the last that must stay', async () => {
  await apply(
    kinds.POD_DISRUPTION_BUDGETS,
    `
metadata: { name: httpd }
spec: { minAvailable: 2, selector: { matchLabels: { app: httpd } } }
`,
  );
  const budgets = world.client.of(kinds.POD_DISRUPTION_BUDGETS);
  const allowed = async () => (await budgets.get(named('httpd'))).status.disruptionsAllowed;
  await until(async () => expect(await allowed()).toBe(1));
  await scale('httpd', 2);
  await until(async () => expect(await allowed()).toBe(0));
  const [first] = (await podsOf('httpd')).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const name = first?.metadata.name ?? '';
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: named(name) };
  // The refusal says "later"; this client takes it for an answer.
  const drainer = { name: 'drainer', groups: ['system:masters'] };
  const client = openClient(world.api.server.inProcess(drainer), { retries: 0 });
  try {
    await expect(client.of(kinds.PODS).post(named(name), 'eviction', eviction)).rejects.toSatisfy(
      refusedAs('TooManyRequests'),
    );
  } finally {
    client.close();
  }
}, 60_000);

test('Services of type LoadBalancer get addresses of the pool while there are some', async () => {
  const services = world.client.of(kinds.SERVICES);
  const make = (name: string) =>
    services.create({
      metadata: named(name),
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
  const addressOf = async (name: string) =>
    (await services.get(named(name))).status.loadBalancer?.ingress?.[0]?.ip;
  const names = Array.from({ length: 10 }, (_, number) => `public-${number}`);
  for (const name of names) await make(name);
  const given = async () => (await Promise.all(names.map(addressOf))).filter((ip) => ip !== undefined);
  const all = await until(async () => {
    const ips = await given();
    expect(ips.length).toBeGreaterThanOrEqual(6);
    return ips;
  });
  expect(new Set(all).size).toBe(all.length);
  expect(all.every((ip) => ip.startsWith('192.0.2.'))).toBe(true);
  expect(all.length).toBeLessThan(names.length);
  // One that is given back is another's.
  const waiting = (
    await Promise.all(names.map(async (name) => [name, await addressOf(name)] as const))
  ).filter(([, ip]) => ip === undefined);
  await services.delete(named(names[0] ?? ''));
  await until(async () => {
    const served = await Promise.all(waiting.map(([name]) => addressOf(name)));
    expect(served.filter((ip) => ip !== undefined)).toHaveLength(1);
  });
}, 60_000);
