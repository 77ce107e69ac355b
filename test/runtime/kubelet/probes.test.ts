// Probes by HTTP, HTTPS, TCP and gRPC over a real pod network: what the pod is asked, and what the API says of it.
// Guarantees: thresholds are seen by scripted answers, never by the time they take.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { PODS } from '../../../src/api/resources.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { ServingPods } from '../../support/kubelet/servingPods.js';
import { describeWith } from '../../support/requires.js';

const EVERY_SECOND = { periodSeconds: 1, timeoutSeconds: 20 };
const main = ({ status }: Stored<V1Pod>) => status.containerStatuses?.[0];
const conditionOf = ({ status }: Stored<V1Pod>, type: string) =>
  status.conditions?.find((one) => one.type === type);

describeWith(NEEDS, 'probes over the network of pods', () => {
  let pods: PodNode;
  let serving: ServingPods;
  const unhealthy = (pod: string, words: string) =>
    pods.event(pod, ({ reason, message = '' }) => reason === 'Unhealthy' && message.startsWith(words));
  const restarted = (pod: string) =>
    pods.until('restarted', pod, (one) => (main(one)?.restartCount ?? 0) > 0);
  const ready = (pod: string) => pods.until('ready', pod, (one) => main(one)?.ready === true);

  beforeAll(async () => {
    pods = await PodNode.start();
    serving = await ServingPods.on(pods);
  });
  afterAll(() => pods?.stop());

  test('readiness by HTTP: a named port, headers, and as many answers in a row as the threshold says', async () => {
    const httpGet = {
      path: '/ready',
      port: 'web',
      httpHeaders: [
        { name: 'X-Twice', value: 'one' },
        { name: 'X-Twice', value: 'two' },
        { name: 'Host', value: 'pod.example' },
      ],
    };
    // Whoever needed one answer only would be ready by the first, and stay so.
    const readinessProbe = { ...EVERY_SECOND, httpGet, successThreshold: 2, failureThreshold: 1000 };
    const spec = serving.spec({ '/ready': [503, 200, 503] }, { readinessProbe });
    await pods.create('reader', spec);
    const [first] = await serving.asked('reader', '/ready', (all) => all.length >= 4);
    expect(first).toMatchObject({
      isSecure: false,
      headers: { 'x-twice': 'one, two', host: 'pod.example', 'user-agent': 'kube-probe/1.36', accept: '*/*' },
    });
    const waiting = await pods.until('told', 'reader', (one) => main(one)?.started === true);
    expect(main(waiting)).toMatchObject({ ready: false, started: true, restartCount: 0 });
    expect(conditionOf(waiting, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [main]',
    });
    const event = await unhealthy('reader', 'Readiness probe failed: HTTP');
    expect(event).toMatchObject({
      type: 'Warning',
      message: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
      involvedObject: { fieldPath: 'spec.containers{main}' },
      source: { component: 'kubelet', host: 'node-1' },
    });
    await serving.ask('reader', '/answer?to=/ready&with=200');
    expect(conditionOf(await ready('reader'), 'Ready')?.status).toBe('True');
    await pods.drop('reader');
  });

  test('startup by HTTPS holds the others back; liveness restarts after its threshold, with the grace of the probe', async () => {
    const spec = serving.spec(
      { '/started': [500], '/live': [500, 500, 200, 500, 500, 200] },
      {
        startupProbe: {
          ...EVERY_SECOND,
          httpGet: { path: '/started', port: 8443, scheme: 'HTTPS' },
          failureThreshold: 1000,
        },
        livenessProbe: {
          ...EVERY_SECOND,
          httpGet: { path: '/live', port: 'web' },
          failureThreshold: 3,
          // The pod's own is longer than this test waits, and the first process of a container hears no TERM.
          terminationGracePeriodSeconds: 1,
        },
        readinessProbe: { ...EVERY_SECOND, httpGet: { path: '/', port: 'web' } },
      },
      { terminationGracePeriodSeconds: 600 },
    );
    await pods.create('slow', spec);
    const [asked] = await serving.asked('slow', '/started', (all) => all.length >= 3);
    expect(asked).toMatchObject({ isSecure: true, headers: { 'user-agent': 'kube-probe/1.36' } });
    expect(await serving.asked('slow', '/live', () => true)).toEqual([]);
    expect(await serving.asked('slow', '/', () => true)).toEqual([]);
    expect(main(await pods.running('slow'))).toMatchObject({ started: false, ready: false });
    await unhealthy('slow', 'Startup probe failed: HTTP probe failed with statuscode: 500');
    await serving.ask('slow', '/answer?to=/started&with=200');
    await pods.until('started', 'slow', (one) => main(one)?.started === true);
    await ready('slow');
    // Twice two failures, and after each of them an answer: no three in a row.
    await serving.asked('slow', '/live', (all) => all.length >= 7);
    expect(main((await pods.get('slow')) as Stored<V1Pod>)?.restartCount).toBe(0);
    await serving.ask('slow', '/answer?to=/live&with=500');
    const after = await restarted('slow');
    expect(main(after)?.lastState?.terminated).toMatchObject({ exitCode: 137, reason: 'Error' });
    await unhealthy('slow', 'Liveness probe failed: HTTP probe failed with statuscode: 500');
    expect(await pods.event('slow', ({ reason }) => reason === 'Killing')).toMatchObject({
      message: 'Container main failed liveness probe, will be restarted',
      type: 'Normal',
    });
    await pods.drop('slow');
  });

  test('TCP: a port that nobody listens on, a named one', async () => {
    const spec = serving.spec(
      {},
      {
        startupProbe: { ...EVERY_SECOND, tcpSocket: { port: 'web' }, failureThreshold: 1000 },
        readinessProbe: { ...EVERY_SECOND, tcpSocket: { port: 'late' } },
        livenessProbe: { ...EVERY_SECOND, tcpSocket: { port: 8080 } },
      },
    );
    await pods.create('dialled', spec);
    const { message } = await unhealthy('dialled', 'Readiness');
    const { podIP } = (await pods.running('dialled')).status;
    expect(message).toBe(`Readiness probe failed: dial tcp ${podIP}:7000: connect: connection refused`);
    await serving.ask('dialled', '/listen?port=7000');
    expect(main(await ready('dialled'))?.restartCount).toBe(0);
    await pods.drop('dialled');
  });

  test('who does not start in time is ended with the grace of that probe, and begins again', async () => {
    const startupProbe = {
      ...EVERY_SECOND,
      tcpSocket: { port: 1 },
      failureThreshold: 2,
      terminationGracePeriodSeconds: 1,
    };
    await pods.create('unborn', {
      terminationGracePeriodSeconds: 600,
      containers: [shell(SLEEP, { startupProbe })],
    });
    const pod = await restarted('unborn');
    expect(main(pod)).toMatchObject({ started: false, lastState: { terminated: { exitCode: 137 } } });
    await unhealthy(
      'unborn',
      `Startup probe failed: dial tcp ${pod.status.podIP}:1: connect: connection refused`,
    );
    expect((await pods.event('unborn', ({ reason }) => reason === 'Killing')).message).toBe(
      'Container main failed startup probe, will be restarted',
    );
    await pods.drop('unborn');
  });

  test('no answer in time, by HTTP and by command, and an answer that leads elsewhere', async () => {
    const soon = { periodSeconds: 1, timeoutSeconds: 1 };
    const spec = serving.spec(
      { '/mute': [0], '/away': [302] },
      {
        startupProbe: { ...EVERY_SECOND, httpGet: { path: '/', port: 8080 }, failureThreshold: 1000 },
        readinessProbe: { ...soon, httpGet: { path: '/mute', port: 8080 }, failureThreshold: 1 },
        livenessProbe: { ...EVERY_SECOND, httpGet: { path: '/away', port: 8080 }, failureThreshold: 1 },
      },
    );
    await pods.create('mute', spec);
    const command = ['/bin/sleep', '1000'];
    await pods.create('sleeper', {
      containers: [shell(SLEEP, { readinessProbe: { ...soon, exec: { command } } })],
    });
    const { message } = await unhealthy('mute', 'Readiness');
    const { podIP } = (await pods.running('mute')).status;
    expect(message).toBe(
      `Readiness probe failed: Get "http://${podIP}:8080/mute": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    );
    // That it answers at all shows that it lives.
    const warning = await pods.event('mute', ({ reason }) => reason === 'ProbeWarning');
    expect(warning).toMatchObject({
      type: 'Warning',
      message: 'Liveness probe warning: Probe terminated redirects, Response body: ',
    });
    expect(main(await pods.running('mute'))).toMatchObject({ restartCount: 0, ready: false });
    expect((await unhealthy('sleeper', 'Readiness')).message).toBe(
      'Readiness probe failed: command timed out: "/bin/sleep 1000" timed out after 1s',
    );
    await pods.drop('mute', 'sleeper');
  });

  test('of a pod that is ending: what its readiness probe says is told while its containers have their grace', async () => {
    const readinessProbe = {
      ...EVERY_SECOND,
      httpGet: { path: '/ready', port: 'web' },
      failureThreshold: 1,
    };
    const hook = { preStop: { exec: { command: ['/bin/sleep', '600'] } } };
    await pods.create(
      'leaving',
      serving.spec({}, { readinessProbe, lifecycle: hook }, { terminationGracePeriodSeconds: 600 }),
    );
    await ready('leaving');
    const name = { name: 'leaving', namespace: 'default' };
    await pods.client.of(PODS).delete(name);
    await serving.ask('leaving', '/answer?to=/ready&with=503');
    const leaving = await pods.until(
      'unready',
      'leaving',
      (one) => conditionOf(one, 'Ready')?.status === 'False',
    );
    expect(leaving.metadata.deletionTimestamp).toBeDefined();
    expect(main(leaving)).toMatchObject({ ready: false, state: { running: {} } });
    await serving.ask('leaving', '/answer?to=/ready&with=200');
    await ready('leaving');
    await pods.client.of(PODS).delete(name, { gracePeriodSeconds: 1 });
    await pods.drop('leaving');
  });

  test('gRPC: the health of the service that the probe names', async () => {
    const spec = serving.spec(
      { shop: [2] },
      {
        // Before the server is there, nobody counts against it.
        startupProbe: { ...EVERY_SECOND, grpc: { port: 9090 }, failureThreshold: 1000 },
        readinessProbe: { ...EVERY_SECOND, grpc: { port: 9090, service: 'shop' }, failureThreshold: 1 },
        livenessProbe: {
          ...EVERY_SECOND,
          grpc: { port: 9090, service: 'life' },
          failureThreshold: 2,
          terminationGracePeriodSeconds: 1,
        },
      },
    );
    await pods.create('called', spec);
    await unhealthy('called', 'Readiness probe failed: service unhealthy (responded with "NOT_SERVING")');
    await serving.ask('called', '/answer?to=shop&with=1');
    await ready('called');
    const [asked] = await serving.asked('called', 'shop', () => true);
    expect(asked?.headers['user-agent']?.[0]).toMatch(/^kube-probe\/1\.36/);
    await serving.ask('called', '/answer?to=shop&with=3');
    await pods.until('not ready', 'called', (one) => main(one)?.ready === false);
    await serving.ask('called', '/answer?to=life&with=2');
    expect(main(await restarted('called'))?.lastState?.terminated?.exitCode).toBe(137);
    await unhealthy('called', 'Liveness probe failed: service unhealthy (responded with "NOT_SERVING")');
    await pods.drop('called');
  });
});
