// Hooks by HTTP, HTTPS, sleep and command: what the pods that they ask have heard, and what becomes of those that fail.
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Lifecycle } from '../../../src/api/gen/types.js';
import { PODS } from '../../../src/api/resources.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { ServingPods } from '../../support/kubelet/servingPods.js';
import { describeWith } from '../../support/requires.js';
import { eventually } from '../../support/testCluster.js';

const exec = (script: string) => ({ exec: { command: ['/bin/sh', '-c', script] } });

describeWith(NEEDS, 'hooks of containers', () => {
  let pods: PodNode;
  let serving: ServingPods;
  let host: string;
  const event = (pod: string, reason: string) => pods.event(pod, (one) => one.reason === reason);
  /** A pod with these hooks and the node's directory at /seen. */
  const hooked = (script: string, lifecycle: V1Lifecycle) => ({
    volumes: [{ name: 'seen', hostPath: { path: pods.at('') } }],
    containers: [shell(script, { lifecycle, volumeMounts: [{ name: 'seen', mountPath: '/seen' }] })],
  });

  beforeAll(async () => {
    pods = await PodNode.start();
    serving = await ServingPods.on(pods);
    await pods.create(
      'listener',
      serving.spec(
        { '/post': [500] },
        { lifecycle: { preStop: { httpGet: { port: 'web', path: 'own' } } } },
        { terminationGracePeriodSeconds: 600 },
      ),
    );
    await serving.ask('listener', '/journal');
    host = (await pods.get('listener'))?.status.podIP ?? '';
  });
  afterAll(() => pods?.stop());

  test('by HTTP: whatever is answered, a hook that was heard has passed', async () => {
    await pods.create(
      'speaker',
      hooked(SLEEP, {
        postStart: {
          httpGet: { host, port: 8080, path: '/post', httpHeaders: [{ name: 'X-Hook', value: 'start' }] },
        },
        preStop: { httpGet: { host, port: 8443, path: '/pre', scheme: 'HTTPS' } },
      }),
    );
    await pods.running('speaker');
    const [post] = await serving.asked('listener', '/post', (all) => all.length > 0);
    expect(post).toMatchObject({
      status: 500,
      isSecure: false,
      headers: { 'x-hook': 'start', 'user-agent': 'kube-lifecycle/1.36', accept: '*/*' },
    });
    expect(await serving.asked('listener', '/pre', () => true)).toEqual([]);
    await pods.remove('speaker');
    expect(await serving.asked('listener', '/pre', () => true)).toMatchObject([{ isSecure: true }]);
    expect(await serving.asked('listener', '/post', () => true)).toHaveLength(1);
  });

  test('by HTTPS to who speaks HTTP: asked again in the open, without what is secret', async () => {
    const httpHeaders = [
      { name: 'Authorization', value: 'Bearer secret' },
      { name: 'X-Hook', value: 'open' },
    ];
    const httpGet = { host, port: 8080, path: '/plain', scheme: 'HTTPS', httpHeaders };
    await pods.create('old', hooked(SLEEP, { postStart: { httpGet } }));
    await pods.running('old');
    const [asked] = await serving.asked('listener', '/plain', (all) => all.length > 0);
    expect(asked?.headers).toMatchObject({ 'x-hook': 'open' });
    expect(asked?.headers).not.toHaveProperty('authorization');
    expect((await event('old', 'LifecycleHTTPFallback')).message).toBe(
      `request to HTTPS lifecycle hook ${host}:8080 got HTTP response, retry with HTTP succeeded`,
    );
    await pods.drop('old');
  });

  test('a postStart that fails ends its container, after its preStop', async () => {
    await pods.create('broken', {
      restartPolicy: 'Never',
      ...hooked(SLEEP, { postStart: exec('echo secret; exit 3'), preStop: exec('echo > /seen/stopped') }),
    });
    await pods.create('unheard', hooked(SLEEP, { postStart: { httpGet: { port: 1 } } }));
    const { status } = await pods.ended('broken');
    expect(status).toMatchObject({ phase: 'Failed', containerStatuses: [{ restartCount: 0 }] });
    expect(status.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
    expect(existsSync(pods.at('stopped'))).toBe(true);
    expect(await event('broken', 'FailedPostStartHook')).toMatchObject({
      type: 'Warning',
      message: 'PostStartHook failed',
      involvedObject: { fieldPath: 'spec.containers{main}' },
    });
    expect((await event('broken', 'Killing')).message).toBe('FailedPostStartHook');
    await event('unheard', 'FailedPostStartHook');
    await pods.until('again', 'unheard', (one) => (one.status.containerStatuses?.[0]?.restartCount ?? 0) > 0);
    await pods.drop('broken', 'unheard');
  });

  test('a preStop that fails is told, and keeps nobody alive', async () => {
    const obeys = "trap 'echo > /seen/obeyed; exit 0' TERM; while true; do sleep 0.1; done";
    await pods.create('clumsy', hooked(obeys, { preStop: exec('exit 4') }));
    await pods.running('clumsy');
    await pods.remove('clumsy');
    expect(await event('clumsy', 'FailedPreStopHook')).toMatchObject({
      type: 'Warning',
      message: 'PreStopHook failed',
      involvedObject: { fieldPath: 'spec.containers{main}' },
    });
    expect(existsSync(pods.at('obeyed'))).toBe(true);
  });

  test('sleep: the container lives on until it is over, and is told to end then', async () => {
    const obeys = (name: string) =>
      `trap 'echo > /seen/${name}; exit 0' TERM; while true; do sleep 0.1; done`;
    const sleeping = (seconds: number) => ({ sleep: { seconds } });
    await pods.create('nap', {
      terminationGracePeriodSeconds: 60,
      ...hooked(obeys('woken'), { postStart: sleeping(1), preStop: sleeping(1) }),
    });
    // Far longer than this test waits: what is seen while it sleeps is seen for sure.
    await pods.create('deep', {
      terminationGracePeriodSeconds: 1000,
      ...hooked(obeys('disturbed'), { preStop: sleeping(1000) }),
    });
    for (const name of ['nap', 'deep']) await pods.running(name);
    await pods.client.of(PODS).delete({ namespace: 'default', name: 'deep' });
    await event('deep', 'Killing');
    await pods.remove('nap');
    expect(existsSync(pods.at('woken'))).toBe(true);
    expect(await pods.inside('deep', 'echo alive')).toBe('alive');
    expect(existsSync(pods.at('disturbed'))).toBe(false);
    await pods.drop('deep');
  });

  test('a preStop without a host asks its own pod, which is there to hear it', async () => {
    await pods.client.of(PODS).delete({ namespace: 'default', name: 'listener' });
    const [asked] = await serving.asked('listener', '/own', (all) => all.length > 0);
    expect(asked?.headers).toMatchObject({ host: `${host}:8080`, 'user-agent': 'kube-lifecycle/1.36' });
    await serving.ask('listener', '/exit?code=0');
    await eventually(
      () => pods.get('listener'),
      (pod) => pod === undefined,
    );
  });
});
