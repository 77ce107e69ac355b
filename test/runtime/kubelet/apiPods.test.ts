// A kubelet with an apiserver and a real containerd: the node becomes Ready, pods run, change, end and disappear.
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { V1Container, V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import { type Log, silentLog } from '../../../src/api/log.js';
import type { Stored } from '../../../src/api/object.js';
import { EVENTS, LEASES, NODES, PODS } from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import type { Client } from '../../../src/client/client.js';
import { makeEventRecorder } from '../../../src/client/eventRecorder.js';
import type { Informers } from '../../../src/client/informer.js';
import { openInformers } from '../../../src/client/sharedInformers.js';
import { openClient } from '../../../src/client/typedClient.js';
import { openCgroups } from '../../../src/kernel/cgroup/adapter.js';
import { openPleg } from '../../../src/kernel/pleg/adapter.js';
import type { RunningKubelet } from '../../../src/kubelet/dependencies.js';
import { eventsThrough } from '../../../src/kubelet/events.js';
import { runKubelet } from '../../../src/kubelet/kubelet.js';
import { makePodParts } from '../../../src/kubelet/podParts.js';
import { CriNode } from '../../support/criNode.js';
import { IMAGE } from '../../support/imageArchive.js';
import { makeNamespaces } from '../../support/kubelet/nodePods.js';
import { describeWith } from '../../support/requires.js';
import { startTestApiServer, type TestApiServer } from '../../support/testApiServer.js';

const NODE = 'node-1';
const problems: string[] = [];
const note = (message: string, fields?: object) => {
  problems.push(`${message} ${JSON.stringify(fields)}`);
};
const log: Log = { ...silentLog, error: note, warn: note };

const needs = { root: true, tools: ['containerd', 'runc', 'ctr'], files: ['/bin/busybox'] };
/** A busy machine takes its time. */
const PATIENCE_MS = 50_000;

describeWith(needs, 'a kubelet with an apiserver', () => {
  let node: CriNode;
  let api: TestApiServer;
  let client: Client;
  let informers: Informers;
  let kubelet: RunningKubelet;
  let manifests: string;

  const start = async () =>
    runKubelet({
      config: {
        nodeName: NODE,
        nodeIps: ['127.0.0.1'],
        staticPodPath: manifests,
        clusterDNS: ['10.96.0.10'],
        clusterDomain: 'cluster.local',
        rootDir: path.join(node.node.directory, 'kubelet'),
        podLogsDir: path.join(node.node.directory, 'logs'),
        cgroupRoot: node.node.cgroupParent,
        plegRelistPeriodMs: 200,
        housekeepingPeriodMs: 200,
      },
      client,
      informers,
      log,
      runtime: node.cri,
      pleg: openPleg(),
      cgroups: await openCgroups(),
      events: eventsThrough(makeEventRecorder(client, { component: 'kubelet', host: NODE })),
      parts: makePodParts({ client, informers, runtime: node.cri.runtime, log }),
    });

  const shell = (name: string, script: string, more: Partial<V1Container> = {}): V1Container => ({
    name,
    image: IMAGE,
    imagePullPolicy: 'IfNotPresent',
    command: ['/bin/sh', '-c', script],
    ...more,
  });
  const create = (name: string, spec: Partial<V1PodSpec>) =>
    client.of(PODS).create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: {
        nodeName: NODE,
        terminationGracePeriodSeconds: 2,
        automountServiceAccountToken: false,
        ...spec,
      } as V1PodSpec,
    });
  const get = async (name: string): Promise<Stored<V1Pod> | undefined> => {
    try {
      return await client.of(PODS).get({ namespace: 'default', name });
    } catch (error) {
      if (ApiError.is(error, 'NotFound')) return undefined;
      throw error;
    }
  };
  const until = async (what: string, name: string, holds: (pod: Stored<V1Pod>) => boolean) => {
    let pod: Stored<V1Pod> | undefined;
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; ) {
      pod = await get(name);
      if (pod !== undefined && holds(pod)) return pod;
      await sleep(25);
    }
    throw new Error(
      `${name} never was ${what}: ${JSON.stringify(pod?.status, undefined, 1)}\n${problems.join('\n')}`,
    );
  };
  const untilGone = async (name: string) => {
    for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; ) {
      if ((await get(name)) === undefined) return;
      await sleep(25);
    }
    throw new Error(
      `${name} is still there: ${JSON.stringify((await get(name))?.status)}\n${problems.join('\n')}`,
    );
  };
  const remove = async (name: string) => {
    await client.of(PODS).delete({ namespace: 'default', name });
    await untilGone(name);
  };
  const running = ({ status }: Stored<V1Pod>) => status.phase === 'Running';
  const ready = ({ status }: Stored<V1Pod>) =>
    status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  const first = ({ status }: Stored<V1Pod>) => status.containerStatuses?.[0];

  beforeAll(async () => {
    node = await CriNode.start();
    manifests = path.join(node.node.directory, 'manifests');
    mkdirSync(manifests);
    api = await startTestApiServer();
    client = openClient(api.transport);
    await makeNamespaces(client);
    informers = openInformers(client);
    kubelet = await start();
  });
  afterEach(() => {
    problems.length = 0;
  });
  afterAll(async () => {
    await kubelet?.stop();
    informers?.stop();
    await api?.close();
    await node?.stop();
  });

  test('the node registers, becomes Ready and holds a lease', async () => {
    for (let tries = 0; tries < 200; tries++) {
      const found = await client
        .of(NODES)
        .get({ name: NODE })
        .catch(() => undefined);
      if (found?.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) break;
      await sleep(25);
    }
    const { metadata, status } = await client.of(NODES).get({ name: NODE });
    expect(metadata.labels).toMatchObject({ 'kubernetes.io/hostname': NODE, 'kubernetes.io/os': 'linux' });
    expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'MemoryPressure=False',
      expect.stringMatching(/^DiskPressure=/),
      'PIDPressure=False',
      'Ready=True',
    ]);
    expect(status.nodeInfo?.containerRuntimeVersion).toMatch(/^containerd:\/\/\d/);
    expect(status.nodeInfo?.kubeletVersion).toBe('v1.36.0+trellis');
    expect(status.capacity?.['pods']).toBe('110');
    expect(status.declaredFeatures).toContain('RestartAllContainersOnContainerExits');
    expect(status.addresses).toEqual([
      { type: 'InternalIP', address: '127.0.0.1' },
      { type: 'Hostname', address: NODE },
    ]);
    const lease = await client.of(LEASES).get({ namespace: 'kube-node-lease', name: NODE });
    expect(lease.spec?.holderIdentity).toBe(NODE);
  });

  test('a pod is created, runs, is deleted and leaves nothing', async () => {
    const { metadata } = await create('web', {
      containers: [
        shell('web', 'while true; do hostname | nc -l -p 8080; done', {
          resources: { requests: { cpu: '100m' } },
        }),
      ],
    });
    const pod = await until('Ready', 'web', ready);
    expect(pod.status).toMatchObject({ phase: 'Running', hostIP: '127.0.0.1', qosClass: 'Burstable' });
    expect(first(pod)?.containerID).toMatch(/^containerd:\/\/[0-9a-f]{64}$/);
    const resolver = await node.cri.runtime.execSync(
      first(pod)?.containerID?.slice(13) ?? '',
      ['/bin/cat', '/etc/resolv.conf'],
      5,
    );
    expect(String(resolver.stdout)).toContain('nameserver 10.96.0.10');
    await remove('web');
    for (let tries = 0; tries < 100 && (await node.cri.runtime.listPodSandbox()).length > 0; tries++)
      await sleep(50);
    expect(await node.cri.runtime.listPodSandbox()).toEqual([]);
    expect(await node.cri.runtime.listContainers()).toEqual([]);
    expect(await (await openCgroups()).children(`${node.node.cgroupParent}/kubepods/burstable`)).toEqual([]);
    const told = (await client.of(EVENTS).list({ namespace: 'default' })).items
      .filter(({ involvedObject }) => involvedObject.uid === metadata.uid)
      .map(({ reason, message }) => `${reason}: ${message}`);
    expect(told).toEqual([
      `Pulled: Container image "${IMAGE}" already present on machine and can be accessed by the pod`,
      'Created: Container created',
      'Started: Container started',
      'Killing: Stopping container web',
    ]);
  });

  test('a container that ignores TERM is killed when its time is over', async () => {
    await create('deaf', { containers: [shell('deaf', "trap '' TERM; while true; do sleep 1; done")] });
    await until('Running', 'deaf', running);
    await remove('deaf');
  });

  test('a failing liveness probe restarts the container', async () => {
    await create('sick', {
      containers: [
        shell('sick', 'exec sleep 1000', {
          livenessProbe: {
            exec: { command: ['/bin/cat', '/healthy'] },
            periodSeconds: 1,
            failureThreshold: 1,
          },
        }),
      ],
    });
    const pod = await until('restarted', 'sick', (one) => (first(one)?.restartCount ?? 0) > 0);
    expect(first(pod)?.lastState?.terminated?.exitCode).toBe(137);
    await remove('sick');
  });

  test('a readiness probe holds the pod back', async () => {
    await create('slow', {
      containers: [
        shell('slow', 'sleep 1; echo > /ready; exec sleep 1000', {
          readinessProbe: { exec: { command: ['/bin/cat', '/ready'] }, periodSeconds: 1 },
        }),
      ],
    });
    const pod = await until('Running', 'slow', running);
    expect(first(pod)?.ready).toBe(false);
    await until('Ready', 'slow', ready);
    await remove('slow');
  });

  test('a sidecar is up before the main container, serves it, and ends after it', async () => {
    const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
    const serve =
      'echo up > /shared/sidecar; while [ ! -f /shared/done ]; do sleep 0.1; done; exec sleep 1000';
    await create('sided', {
      restartPolicy: 'Never',
      volumes: [{ name: 'shared', emptyDir: {} }],
      initContainers: [shell('side', serve, { restartPolicy: 'Always', volumeMounts })],
      containers: [
        shell('main', '/bin/cat /shared/sidecar > /dev/termination-log; echo > /shared/done', {
          volumeMounts,
        }),
      ],
    });
    const pod = await until('Succeeded', 'sided', ({ status }) => status.phase === 'Succeeded');
    expect(first(pod)?.state?.terminated).toMatchObject({ exitCode: 0, message: 'up\n' });
    const side = (
      await until(
        'ended',
        'sided',
        ({ status }) => status.initContainerStatuses?.[0]?.state?.terminated !== undefined,
      )
    ).status.initContainerStatuses?.[0];
    expect(side?.restartCount).toBe(0);
    await remove('sided');
  });

  test('a pod that is done keeps its status and can be deleted', async () => {
    await create('done', { restartPolicy: 'Never', containers: [shell('done', 'exit 0')] });
    await until('Succeeded', 'done', ({ status }) => status.phase === 'Succeeded');
    await sleep(500); // its worker finishes, and housekeeping passes by
    const pod = await get('done');
    expect(pod?.status.phase).toBe('Succeeded');
    expect(pod && first(pod)?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    await remove('done');
  });

  test('rules of a container restart it after the codes that they name, and after no other', async () => {
    const restartPolicyRules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
    await create('ruled', {
      restartPolicy: 'Never',
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [
        shell('ruled', 'if [ -e /data/ran ]; then exit 7; fi; echo > /data/ran; exit 42', {
          restartPolicy: 'Never',
          restartPolicyRules,
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        }),
      ],
    });
    const pod = await until('over', 'ruled', ({ status }) => status.phase === 'Failed');
    expect(first(pod)).toMatchObject({ restartCount: 1, state: { terminated: { exitCode: 7 } } });
    expect(first(pod)?.lastState?.terminated?.exitCode).toBe(42);
    await remove('ruled');
  });

  test('a rule restarts the whole pod in place: init containers again, the sandbox and its volumes as they were', async () => {
    const restartPolicyRules = [
      { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } },
    ];
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    const count = (name: string) => `echo >> /data/${name}; `;
    await create('again', {
      restartPolicy: 'Never',
      volumes: [{ name: 'data', emptyDir: {} }],
      initContainers: [shell('prepare', `${count('init')}exit 0`, { volumeMounts })],
      containers: [
        shell(
          'trigger',
          `${count('trigger')}while true; do if [ -e /data/go ]; then busybox rm /data/go; exit 42; fi; sleep 0.1; done`,
          { volumeMounts, restartPolicy: 'Never', restartPolicyRules },
        ),
        // Its hook would keep it for longer than this test waits.
        shell('other', `${count('other')}exec sleep 1000`, {
          volumeMounts,
          lifecycle: { preStop: { sleep: { seconds: 600 } } },
        }),
      ],
      terminationGracePeriodSeconds: 600,
    });
    const running = (pod: Stored<V1Pod>) =>
      pod.status.containerStatuses?.length === 2 &&
      pod.status.containerStatuses.every(({ state }) => state?.running !== undefined);
    const before = await until('running', 'again', running);
    const conditionOf = ({ status }: Stored<V1Pod>) =>
      status.conditions?.find(({ type }) => type === 'AllContainersRestarting')?.status;
    expect(conditionOf(before)).toBe('False');
    const inside = async (pod: Stored<V1Pod>, script: string) => {
      const other = pod.status.containerStatuses?.find(({ name }) => name === 'other');
      const id = other?.containerID?.split('://')[1] ?? '';
      return String((await node.cri.runtime.execSync(id, ['/bin/sh', '-c', script], 20)).stdout);
    };
    await inside(before, 'echo > /data/go');
    const after = await until(
      'running again',
      'again',
      (pod) => running(pod) && (pod.status.containerStatuses ?? []).every((one) => one.restartCount === 1),
    );
    expect(after.status).toMatchObject({ phase: 'Running', podIP: before.status.podIP });
    expect(after.status.initContainerStatuses).toMatchObject([{ name: 'prepare', restartCount: 1 }]);
    const ends = (after.status.containerStatuses ?? []).map((one) => one.lastState?.terminated?.exitCode);
    expect(ends.sort()).toEqual([137, 42]);
    expect(conditionOf(after)).toBe('False');
    expect(
      await inside(after, 'cd /data; for name in init trigger other; do busybox wc -l < $name; done'),
    ).toBe('2\n2\n2\n');
    await client.of(PODS).delete({ namespace: 'default', name: 'again' }, { gracePeriodSeconds: 0 });
    await untilGone('again');
  });

  test('hooks run: postStart before the pod is ready, preStop before it ends', async () => {
    const write = (name: string) => ({ exec: { command: ['/bin/sh', '-c', `echo > /seen/${name}`] } });
    await create('hooked', {
      volumes: [{ name: 'seen', hostPath: { path: node.node.directory } }],
      containers: [
        shell('hooked', 'exec sleep 1000', {
          volumeMounts: [{ name: 'seen', mountPath: '/seen' }],
          lifecycle: { postStart: write('after-start'), preStop: write('before-stop') },
        }),
      ],
    });
    await until('Ready', 'hooked', ready);
    expect(existsSync(path.join(node.node.directory, 'after-start'))).toBe(true);
    expect(existsSync(path.join(node.node.directory, 'before-stop'))).toBe(false);
    await remove('hooked');
    expect(existsSync(path.join(node.node.directory, 'before-stop'))).toBe(true);
  });

  test('a new image restarts the container in place', async () => {
    await create('change', { containers: [shell('change', 'exec sleep 1000')] });
    const before = await until('Ready', 'change', ready);
    const spec = { containers: [{ name: 'change', image: 'localhost/nothing:1' }] };
    await client.of(PODS).patch({ namespace: 'default', name: 'change' }, 'strategic', { spec });
    const after = await until('waiting', 'change', (pod) => first(pod)?.state?.waiting !== undefined);
    expect(first(after)?.state?.waiting?.reason).toMatch(/^(ErrImagePull|ImagePullBackOff)$/);
    expect(after.status.podIP).toBe(before.status.podIP);
    await remove('change');
  });

  test('a pod that asks too much is refused', async () => {
    await create('huge', {
      containers: [shell('huge', 'true', { resources: { requests: { cpu: '1000' } } })],
    });
    const { status } = await until('refused', 'huge', (one) => one.status.phase === 'Failed');
    expect(status.reason).toBe('OutOfcpu');
    expect(status.message).toMatch(
      /^Pod was rejected: Node didn't have enough resource: cpu, requested: 1000000, used: 0/,
    );
    await remove('huge');
  });

  test('an image that cannot be had waits in back-off, and the pod can be deleted', async () => {
    await create('lost', { containers: [shell('lost', 'true', { image: '127.0.0.1:1/nothing:1' })] });
    await until('waiting', 'lost', (one) =>
      /^(ErrImagePull|ImagePullBackOff)$/.test(first(one)?.state?.waiting?.reason ?? ''),
    );
    await remove('lost');
  });

  test('a static pod is seen in the API, and its mirror comes back', async () => {
    const manifest = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'fixed' },
      spec: { terminationGracePeriodSeconds: 1, containers: [shell('fixed', 'exec sleep 1000')] },
    };
    writeFileSync(path.join(manifests, 'fixed.json'), JSON.stringify(manifest));
    const mirror = await until('Running', `fixed-${NODE}`, running);
    expect(mirror.metadata.annotations).toMatchObject({ 'kubernetes.io/config.source': 'file' });
    await client.of(PODS).delete({ namespace: 'default', name: `fixed-${NODE}` }, { gracePeriodSeconds: 0 });
    const again = await until(
      'Running again',
      `fixed-${NODE}`,
      (pod) => running(pod) && pod.metadata.uid !== mirror.metadata.uid,
    );
    expect(first(again)?.containerID).toBe(first(mirror)?.containerID);
    rmSync(path.join(manifests, 'fixed.json'));
    await untilGone(`fixed-${NODE}`);
  });

  test('a restarted kubelet finds everything as it was', async () => {
    await create('stay', { containers: [shell('stay', 'exec sleep 1000')] });
    const before = await until('Ready', 'stay', ready);
    await kubelet.stop();
    kubelet = await start();
    await sleep(1000); // relists and housekeepings that must find nothing to do
    const after = await until('Ready', 'stay', ready);
    expect(after.status).toEqual(before.status);
    await remove('stay');
  });
});
